/** The prepared recordings as buttons: all of them, or one. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { icon } from "./icons.js";

/**
 * @param {{clips: object[], demo: import("./demo.js").Demo}} parts
 * @returns {{element: HTMLElement}}
 */
export function demoStrip({ clips, demo }) {
  const sign = h("span", { class: "strip-sign" }, icon("play"));
  const label = h("span", {}, t("talk.demoing.all"));
  const all = h("button", { class: "button small primary", type: "button" }, sign, label);
  const complaint = h("p", { class: "complaint small", role: "alert" });
  all.addEventListener("click", () => (demo.running ? demo.stop() : demo.play(clips)));
  const buttons = new Map(clips.map((clip) => {
    const button = h("button", {
      class: "button small strip-clip", type: "button", "aria-label": t("talk.demoing.clip", { title: clip.title }),
      on: { click: () => demo.play([clip]) },
    }, clip.title);
    return [clip.id, button];
  }));
  const show = () => {
    sign.replaceChildren(icon(demo.running ? "stop" : "play"));
    label.textContent = t(demo.running ? "talk.demoing.stop" : "talk.demoing.all");
    if (demo.running) complaint.textContent = "";
    for (const [id, button] of buttons) {
      const playing = demo.playing?.id === id;
      button.classList.toggle("strip-now", playing);
      button.setAttribute("aria-pressed", String(playing));
      if (playing) button.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  };
  demo.addEventListener("change", show);
  demo.addEventListener("failed", () => {
    complaint.textContent = t("talk.demoing.failed");
  });
  show();
  return {
    element: h("div", { class: "strip", role: "group", "aria-label": t("talk.demoing.title") },
      h("div", { class: "strip-row" }, all, ...buttons.values()), complaint),
  };
}

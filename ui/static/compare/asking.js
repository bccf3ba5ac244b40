/** The first view: one button to speak, or a recording that speaks instead. */

import { h, replace } from "../core/dom.js";
import { has, number, settings, t } from "../core/page.js";
import { Sound, SoundProblem } from "../voice/sound.js";
import { icon } from "./icons.js";
import { Take } from "./take.js";

const LOUDEST = 0.25; // a level at which the ring is as wide as it gets

/**
 * @param {{terms: HTMLElement, onSpeech: (speech: Blob, clip: object | null) => void}} on
 * @returns {{element: HTMLElement, complain: (sentence: string, what?: string) => void, close: () => void}}
 */
export function asking({ terms, onSpeech }) {
  const label = h("span", { class: "compare-record-label" }, t("compare.ask.record"));
  const sign = h("span", { class: "compare-record-sign" }, icon("mic"));
  const button = h("button", { class: "compare-record", type: "button", on: { click: () => toggle() } }, sign, label);
  const hint = h("p", { class: "compare-hint", "aria-live": "polite" }, t("compare.ask.hint"));
  const complaint = h("div", { class: "compare-complaint", role: "alert" });
  const clips = settings.demo.filter(({ interrupts }) => !interrupts).map((clip) => clipButton(clip, () => useClip(clip)));
  const element = h("section", { class: "compare-ask", "aria-label": t("compare.title") },
    button, hint,
    h("p", { class: "small muted compare-permission" }, t("compare.ask.microphone")),
    complaint,
    clips.length > 0 && h("div", { class: "compare-clips" },
      h("p", { class: "muted small" }, t("compare.ask.demo")),
      h("div", { class: "compare-clip-list" }, clips)),
    terms);

  let sound = null;
  let take = null;

  const complain = (sentence, what = "") =>
    replace(complaint, h("p", {}, icon("warn"), h("span", {}, h("strong", {}, sentence), what && ` ${what}`)));

  const close = () => {
    sound?.close();
    sound = take = null;
    element.classList.remove("recording");
    button.style.removeProperty("--level");
    replace(label, t("compare.ask.record"));
    replace(sign, icon("mic"));
    replace(hint, t("compare.ask.hint"));
  };
  const finish = (verdict) => {
    const { speech } = take;
    close();
    if (verdict === "nothing") complain(t("compare.ask.nothing"));
    else onSpeech(speech, null);
  };
  const hear = (frame) => {
    if (!take) return;
    const before = take.spoken;
    const verdict = take.push(frame);
    if (take.spoken && !before) replace(hint, t("compare.ask.hearing"));
    if (verdict !== "more") finish(verdict);
  };
  const toggle = async () => {
    if (take) return finish(take.spoken ? "enough" : "nothing");
    if (sound) return; // it is being opened
    replace(complaint);
    const opened = new Sound();
    sound = opened;
    try {
      await opened.open();
    } catch (error) {
      sound = null;
      const kind = error instanceof SoundProblem && has(`talk.problem.${error.kind}.title`) ? error.kind : "error";
      return complain(t(`talk.problem.${kind}.title`), t(`talk.problem.${kind}.do`));
    }
    if (sound !== opened) return opened.close(); // left meanwhile
    take = new Take();
    element.classList.add("recording");
    replace(label, t("compare.ask.stop"));
    replace(sign, icon("stop"));
    replace(hint, t("compare.ask.listening"));
    opened.onframe = hear;
    opened.addEventListener("level", ({ detail }) =>
      button.style.setProperty("--level", Math.min(1, detail.input / LOUDEST).toFixed(3)));
    opened.addEventListener("lost", () => {
      close();
      complain(t("talk.problem.lost.title"), t("talk.problem.lost.do"));
    });
  };
  const useClip = async (clip) => {
    close();
    replace(complaint);
    try {
      const answer = await fetch(clip.url);
      if (!answer.ok) throw new Error(String(answer.status));
      onSpeech(await answer.blob(), clip);
    } catch {
      complain(t("shell.unreachable"));
    }
  };
  return { element, complain, close };
}

function clipButton(clip, use) {
  const seconds = number(clip.seconds, { maximumFractionDigits: 0 });
  return h("button",
    { class: "button small", type: "button", dataset: { clip: clip.id }, "aria-label": t("compare.ask.clip", { title: clip.title, seconds }), on: { click: use } },
    clip.title, h("span", { class: "muted" }, t("compare.ask.seconds", { seconds })));
}

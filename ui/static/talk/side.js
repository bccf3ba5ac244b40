/** What is heard in the voice, beside the conversation; on a phone a line that opens. */

import { h } from "../core/dom.js";
import { settings, t } from "../core/page.js";
import { perceptLine, perceptPanel } from "../percept/panel.js";

const WIDE = "(min-width: 861px)"; // as in live.css

/** Whether this server listens to voices at all. */
export const hears = (settings.perception?.hears ?? []).length > 0;

/**
 * @param {{perception: boolean, onPerception: (on: boolean) => void}} options
 * @returns {{element: HTMLElement, show: (heard: {percept: object, final: boolean} | null) => void,
 *   perception: (on: boolean) => void, needed: (needed: boolean) => void, close: () => void}}
 *   `needed`: whether it must not be switched off
 */
export function side({ perception, onPerception }) {
  const panel = perceptPanel({ showAgeGender: settings.show_age_gender });
  const line = h("span", { class: "side-line" });
  const input = h("input", { type: "checkbox", role: "switch", "aria-describedby": "side-needed" });
  const off = h("p", { class: "muted" }, t("talk.side.off"));
  const why = h("p", { class: "muted small", id: "side-needed", hidden: true }, t("talk.options.perception_needed"));
  const details = h("details", { class: "side" },
    h("summary", {}, h("span", { class: "side-title" }, t("talk.side.short")), line),
    panel.element, off,
    h("label", { class: "switch side-switch" }, input, t("talk.options.perception")), why);
  const wide = matchMedia(WIDE);
  const fit = () => {
    details.open = wide.matches; // there is room for it, and no line to open it by
  };
  wide.addEventListener("change", fit);
  fit();
  input.addEventListener("change", () => onPerception(input.checked));

  const turned = (on) => {
    input.checked = on;
    panel.element.hidden = !on;
    off.hidden = on;
    if (!on) line.textContent = t("talk.side.off_short");
  };
  const show = (heard) => {
    if (heard) panel.show(heard.percept, { final: heard.final });
    else panel.clear();
    if (input.checked) line.textContent = heard ? perceptLine(heard.percept) : "";
  };
  const needed = (asked) => {
    input.disabled = asked && input.checked;
    why.hidden = !input.disabled;
  };
  turned(perception);
  return {
    element: h("aside", { class: "live-side", "aria-label": t("talk.side.title") }, details),
    show,
    perception: turned,
    needed,
    close: () => wide.removeEventListener("change", fit),
  };
}

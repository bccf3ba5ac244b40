/** While two systems answer: how far they are. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";

/**
 * @param {{clip: {title: string} | null, onCancel: () => void}} on
 * @returns {{element: HTMLElement, focus: () => void,
 *   step: (step: {stage: string, answered: number}) => void}}
 */
export function working({ clip, onCancel }) {
  const line = h("p", { class: "compare-hint", role: "status" });
  const dots = h("div", { class: "compare-dots", "aria-hidden": "true" }, h("i"), h("i"));
  const title = h("h2", { tabindex: "-1" }, t("compare.work.title"));
  const element = h("section", { class: "compare-work" },
    dots,
    title,
    clip && h("p", { class: "muted" }, t("compare.work.said", { title: clip.title })),
    line,
    h("button", { class: "button quiet", type: "button", on: { click: onCancel } }, t("compare.cancel")));
  const step = ({ stage, answered }) => {
    dots.dataset.answered = String(answered);
    replace(line, t(`compare.work.${stage === "answering" && answered ? "first" : stage}`));
  };
  step({ stage: "preparing", answered: 0 });
  return { element, step, focus: () => title.focus() };
}

/** The rounds of this visit, each of which can still be deleted. */

import { h, replace } from "../core/dom.js";
import { t, when } from "../core/page.js";
import { keyDoor } from "./keys.js";
import { sentence } from "./requests.js";

/**
 * @param {{onDelete: (round: object) => Promise<void>, onGone: () => void}} on `onGone`: a round was
 *   deleted with its key
 * @returns {{element: HTMLElement, add: (round: object, kept: string[]) => void, drop: (round: object) => void}}
 */
export function mine({ onDelete, onGone }) {
  const rows = new Map();
  const list = h("ul", {});
  const shown = h("div", { hidden: true }, h("h2", {}, t("compare.mine.title")), list);
  const element = h("section", { class: "compare-mine" }, shown, keyDoor({ onDelete: onGone }));
  const show = () => {
    shown.hidden = rows.size === 0;
    replace(list, [...rows.values()]);
  };
  const add = (round, kept) => {
    const problem = h("span", { class: "complaint small", role: "alert" });
    const remove = h("button", { type: "button", class: "button quiet small", on: { click: async () => {
      remove.disabled = true;
      replace(problem);
      try {
        await onDelete(round);
      } catch (error) {
        remove.disabled = false;
        replace(problem, sentence(error));
      }
    } } }, t("compare.reveal.delete"));
    const time = when(new Date(), { timeStyle: "short" });
    const what = [t("compare.mine.vote"), ...kept.map((name) => t(`talk.recording.${name}`))].join(t("compare.keep.comma"));
    rows.set(round.id, h("li", { dataset: { round: round.id } },
      h("span", {}, t("compare.mine.round", { time, what })), remove, problem));
    show();
  };
  const drop = (round) => {
    rows.delete(round.id);
    show();
  };
  return { element, add, drop };
}

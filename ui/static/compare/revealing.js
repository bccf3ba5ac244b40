/** After the vote: who answered what, how long it took, and why it sounded so. */

import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { planWords } from "../talk/plan.js";
import { icon } from "./icons.js";
import { keyCard } from "./keys.js";
import { labelled } from "./labels.js";
import { sentence } from "./requests.js";

/**
 * @param {{round: import("./requests.js").Round, told: object, onAgain: () => void,
 *   onDelete: () => Promise<void>}} given `told`: the server's answer to the vote
 * @returns {{element: HTMLElement, focus: () => void}}
 */
export function revealing({ round, told, onAgain, onDelete }) {
  const title = h("h2", { tabindex: "-1" }, t("compare.reveal.title"));
  const kept = h("p", { class: "small muted", role: "status" }, keptLine(told.kept));
  const problem = h("p", { class: "complaint", role: "alert" });
  const remove = h("button", { class: "button quiet small", type: "button", on: { click: () => forget() } }, t("compare.reveal.delete"));
  const key = told.kept.length > 0 ? keyCard(round) : null;
  const verdict = ["tie", "bad"].includes(told.vote) ? h("p", {}, t(`compare.reveal.${told.vote}`)) : null;
  const element = h("section", { class: "compare-reveal" },
    h("header", { class: "compare-section" }, title, verdict,
      h("p", { class: "muted" }, t("compare.reveal.said", { said: told.said || t("compare.reveal.silent") }))),
    h("div", { class: "compare-pair" }, ["a", "b"].map((side) => shown(side, told.answers[side], told.vote === side))),
    h("div", { class: "compare-after" },
      h("button", { class: "button primary compare-again", type: "button", on: { click: onAgain } }, t("compare.again")),
      h("div", { class: "compare-kept" }, kept, remove)),
    key,
    problem);
  const forget = async () => {
    remove.disabled = true;
    replace(problem);
    try {
      await onDelete();
      remove.remove();
      key?.remove();
      replace(kept, t("compare.reveal.deleted"));
    } catch (error) {
      remove.disabled = false;
      replace(problem, sentence(error));
    }
  };
  return { element, focus: () => title.focus() };
}

function shown(side, answer, chosen) {
  const plan = answer.plan && planWords(answer.plan, t);
  return h("article", { class: `card compare-answer revealed${chosen ? " chosen" : ""}`, dataset: { side, system: answer.system } },
    h("header", {},
      h("h3", {}, h("span", { class: "compare-letter" }, side.toUpperCase()), h("span", { class: "compare-system" }, labelled(answer.label))),
      chosen && h("span", { class: "chip compare-heard" }, icon("check"), t("compare.reveal.chosen"))),
    h("blockquote", {}, answer.text),
    plan && h("p", { class: "small muted compare-plan" }, `${t("compare.reveal.heard")}: ${plan.heard} → ${plan.does}`),
    answer.latency_ms !== null && h("p", { class: "small muted" },
      t("compare.reveal.waited", { seconds: number(answer.latency_ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) })));
}

function keptLine(kept) {
  if (kept.length === 0) return t("compare.reveal.only");
  return t("compare.reveal.kept", { what: kept.map((name) => t(`talk.recording.${name}`)).join(t("compare.keep.comma")) });
}

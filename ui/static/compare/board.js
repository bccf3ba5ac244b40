/** Where the systems stand: strengths, records, and who won against whom. */

import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { axis, interval, scaleOf } from "./forest.js";
import { labelled } from "./labels.js";
import { leaderboard } from "./requests.js";

/** @returns {{element: HTMLElement, load: () => Promise<object | null>}} `load`: look again */
export function board() {
  const body = h("div", { "aria-live": "off" });
  const element = h("section", { class: "card compare-board", "aria-labelledby": "compare-board" },
    h("h2", { id: "compare-board" }, t("compare.board.title")), body);
  const load = async () => {
    try {
      const told = await leaderboard();
      replace(body, told.rounds + told.left_out === 0 ? empty(told) : [standing(told), pairs(told), remarks(told)]);
      return told;
    } catch {
      replace(body, h("p", { class: "complaint" }, t("compare.board.failed")));
      return null;
    }
  };
  return { element, load };
}

function empty(told) {
  return h("div", { class: "compare-empty" },
    h("p", { class: "muted" }, t("compare.board.empty")),
    h("ul", {}, told.systems.map(({ label, available }) =>
      h("li", { class: "chip" }, labelled(label), !available && h("span", { class: "muted" }, t("compare.board.unavailable"))))));
}

function standing(told) {
  const scale = scaleOf(told.systems);
  const points = (value) => number(Math.round(value), { useGrouping: false });
  const head = ["system", "strength", "points", "won", "lost", "tie", "bad", "votes"];
  const cell = (name, value) => h("td", { class: "numeric", dataset: { name: t(`compare.board.${name}`) } }, number(value));
  const row = (each) => h("tr", { dataset: { system: each.system } },
    h("th", { scope: "row" }, labelled(each.label),
      !each.available && h("small", { class: "muted" }, ` (${t("compare.board.unavailable")})`)),
    h("td", { class: "compare-plot" }, interval(each, scale)),
    h("td", { class: "numeric compare-points" }, h("strong", {}, points(each.elo)),
      h("small", { class: "muted" }, t("compare.board.range", { low: points(each.elo_low), high: points(each.elo_high) }))),
    cell("won", each.wins), cell("lost", each.losses), cell("tie", each.ties), cell("bad", each.bad), cell("votes", each.rounds));
  return h("table", { class: "compare-standing" },
    h("thead", {}, h("tr", {}, head.map((name) =>
      h("th", { scope: "col", class: ["system", "strength"].includes(name) ? null : "numeric" }, t(`compare.board.${name}`))))),
    h("tbody", {}, told.systems.map(row)),
    h("tfoot", { "aria-hidden": "true" }, h("tr", {}, h("td", {}), h("td", { class: "compare-plot" }, axis(scale, points)), h("td", { colspan: "6" }))));
}

function pairs(told) {
  const of = (row, column) => {
    const pair = told.pairs.find(({ first, second }) => [first, second].includes(row) && [first, second].includes(column));
    return row === pair.first ? [pair.first_wins, pair.second_wins] : [pair.second_wins, pair.first_wins];
  };
  const cell = (row, column) => {
    if (row === column) return h("td", { class: "numeric same" });
    const [won, lost] = of(row.system, column.system);
    if (won + lost === 0) return h("td", { class: "numeric muted" }, t("compare.board.never"));
    const share = Math.round((won / (won + lost)) * 100);
    return h("td", { class: "numeric", style: `--share: ${share}%` }, t("compare.board.cell", { won: number(won), all: number(won + lost) }));
  };
  return h("details", { class: "compare-details" }, h("summary", {}, t("compare.board.pairs")),
    h("p", { class: "muted small" }, t("compare.board.against")),
    h("div", { class: "compare-scroll", tabindex: "0", role: "region", "aria-label": t("compare.board.pairs") },
      h("table", { class: "compare-pairs" },
        h("thead", {}, h("tr", {}, h("td", {}), told.systems.map(({ label }) => h("th", { scope: "col" }, labelled(label))))),
        h("tbody", {}, told.systems.map((row) => h("tr", {}, h("th", { scope: "row" }, labelled(row.label)), told.systems.map((column) => cell(row, column))))))));
}

function remarks(told) {
  const counted = told.rounds === 1 ? t("compare.board.round") : t("compare.board.rounds", { count: number(told.rounds) });
  return h("div", { class: "compare-remarks small muted" },
    h("p", {}, counted, told.left_out > 0 && ` · ${t("compare.board.left_out", { count: number(told.left_out) })}`),
    h("p", {}, t("compare.board.how", { interval: number(told.interval) })));
}

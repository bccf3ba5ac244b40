/** How long people wait, stage by stage: half of all turns, nearly all, and the slowest. */

import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { axis } from "./readings.js";
import { ms, named } from "./words.js";

const HEARD = "first_sent"; // the stage people notice
const OURS = "overhead"; // a length, not a moment
const ORDER = [
  "paused", "judged", "words", "percept", "gate", "planned", "first_token", "first_clause", "first_audio", "opened", HEARD, OURS,
];

/** @returns {{element: HTMLElement, show(stages: any[]): void}} */
export function stageTimes() {
  let which = "lately";
  let known = [];
  let drawn = "";
  const chart = h("div", {});
  const buttons = ["lately", "ever"].map((name) =>
    h("button", { class: "segment", type: "button", "aria-pressed": String(name === which), dataset: { which: name },
      on: { click: () => choose(name) } }, t(`system.stages.${name}`)));
  const element = h("section", { class: "card stack", "aria-labelledby": "stages-title" },
    h("div", { class: "head" },
      h("div", {}, h("h2", { id: "stages-title" }, t("system.stages.title")),
        h("p", { class: "muted small" }, t("system.stages.about"))),
      h("div", { class: "segments", role: "group", "aria-label": t("system.stages.span") }, buttons)),
    chart);

  function choose(name) {
    which = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.which === name));
    draw();
  }

  function draw() {
    const told = JSON.stringify([which, known]);
    if (told === drawn) return;
    drawn = told;
    const shown = known.filter((stage) => stage[which].n > 0);
    replace(chart, shown.length ? table(shown, which) : h("p", { class: "empty" }, t(`system.stages.none.${which}`)));
  }

  return { element, show(stages) { known = inOrder(stages); draw(); } };
}

/** As the work goes; a stage nobody here knows comes last. */
function inOrder(stages) {
  const place = ({ stage }) => (ORDER.includes(stage) ? ORDER.indexOf(stage) : ORDER.length);
  return [...stages].sort((one, other) => place(one) - place(other));
}

function table(stages, which) {
  const moments = stages.filter((stage) => stage.stage !== OURS);
  const ours = stages.find((stage) => stage.stage === OURS);
  const scale = axis(stages, which);
  return h("table", { class: "stages" },
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, t("system.stages.stage")),
      h("th", { scope: "col", class: "stage-axis", "aria-hidden": "true" }, marks(scale)),
      ["p50", "p95", "p99", "n"].map((name) => h("th", { scope: "col", class: `numeric ${name}` }, t(`system.stages.${name}`))))),
    h("tbody", {}, moments.map((stage) => row(stage, which, scale))),
    ours ? h("tbody", { class: "ours" }, row(ours, which, scale)) : null);
}

function row(stage, which, scale) {
  const { n, p50, p95, p99 } = stage[which];
  return h("tr", { class: stage.stage === HEARD ? "heard" : null },
    h("th", { scope: "row" }, named("system.stage", stage.stage)),
    h("td", { class: "stage-bar", "aria-hidden": "true" }, bar(scale, p50, p95, p99)),
    [["p50", p50], ["p95", p95], ["p99", p99]].map(([name, value]) => h("td", { class: `numeric ${name}` }, ms(value))),
    h("td", { class: "numeric n" }, number(n)));
}

function bar(scale, p50, p95, p99) {
  const from = (low, high) => `left:${scale.at(low)}%;width:${Math.max(0, scale.at(high) - scale.at(low))}%`;
  return h("div", { class: "track" },
    scale.marks.map((mark) => h("i", { class: mark === 0 ? "mark zero" : "mark", style: `left:${scale.at(mark)}%` })),
    h("i", { class: "whisker", style: from(p95, p99) }),
    h("i", { class: "most", style: from(p50, p95) }),
    h("i", { class: "half", style: `left:${scale.at(p50)}%` }));
}

function marks(scale) {
  return h("div", { class: "track axis" },
    scale.marks.map((mark) => h("span", { style: `left:${scale.at(mark)}%` }, mark === 0 ? t("system.stages.zero") : number(mark))));
}

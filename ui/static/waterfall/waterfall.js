/** How long an answer took, and what the time went to. */

import { h, stylesheet } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { opened } from "./popover.js";
import { axis, decision, latency, spans } from "./stages.js";

stylesheet(import.meta.url, "./waterfall.css");

/** A time as people say it. @param {number} ms */
export function told(ms) {
  if (Math.abs(ms) < 1000) return t("waterfall.ms", { n: number(Math.round(ms)) });
  return t("waterfall.seconds", { n: number(ms / 1000, { maximumFractionDigits: 1, minimumFractionDigits: 1 }) });
}

/**
 * @param {import("./stages.js").Timing} timing
 * @returns {HTMLButtonElement} how long it took; pressed, it shows what the time went to
 */
export function latencyBadge(timing) {
  const ms = latency(timing);
  const shown = ms === null ? t("waterfall.unknown") : told(ms);
  const button = h("button", {
    type: "button", class: "latency", "aria-haspopup": "dialog", "aria-expanded": "false",
    "aria-label": t("waterfall.badge", { time: shown }), title: t("waterfall.badge", { time: shown }),
  }, shown);
  button.addEventListener("click", () => opened(button, () => waterfall(timing), t("waterfall.title")));
  return button;
}

/**
 * @param {import("./stages.js").Timing} timing
 * @returns {HTMLElement}
 */
export function waterfall(timing) {
  const known = spans(timing);
  if (!known.length) return h("p", { class: "muted" }, t("waterfall.empty"));
  const scale = axis(known);
  const across = (ms) => ((ms - scale.from) / (scale.to - scale.from)) * 100;
  return h("figure", { class: "waterfall" },
    h("figcaption", {}, summary(timing)),
    h("div", { class: "chart", "aria-hidden": "true" },
      h("div", { class: "ground" }, ground(timing, scale, across)),
      known.map((each) => lane(each, across)),
      h("div", { class: "marks" }, scale.marks.map((mark) =>
        h("span", { style: `left:${across(mark)}%` }, number(mark)))),
      h("div", { class: "legend" }, legend(timing, scale))),
    table(known));
}

function summary(timing) {
  const ms = latency(timing);
  const said = [];
  if (ms !== null) said.push(t(timing.heard == null ? "waterfall.sent_after" : "waterfall.heard_after", { time: told(ms) }));
  if (timing.overhead != null) said.push(t("waterfall.overhead", { time: told(timing.overhead) }));
  return said.join(" ");
}

/** What lies under the bars: the time before the end of speech, and the two moments that count. */
function ground(timing, scale, across) {
  const decided = decision(timing);
  return [
    scale.from < 0 && h("span", { class: "before", style: `width:${across(0)}%` }),
    h("span", { class: "end", style: `left:${across(0)}%` }),
    decided !== null && h("span", { class: "decided", style: `left:${across(decided)}%` }),
  ];
}

function lane({ name, group, start, end }, across) {
  const left = across(Math.min(start, end));
  const early = end < 0 ? " early" : "";
  return h("div", { class: "lane" },
    h("span", { class: "name" }, t(`waterfall.stage.${name}`)),
    h("span", { class: "track" },
      h("i", { class: `${group}${early}`, style: `left:${left}%;width:${Math.max(across(end) - left, 0.6)}%` })),
    h("span", { class: "ms" }, told(end)));
}

function legend(timing, scale) {
  return [
    h("span", { class: "key end" }, t("waterfall.stopped")),
    decision(timing) !== null && h("span", { class: "key decided" }, t("waterfall.decided")),
    scale.from < 0 && h("span", { class: "key before" }, t("waterfall.before")),
  ];
}

function table(known) {
  return h("table", { class: "sr-only" },
    h("caption", {}, t("waterfall.table")),
    h("tbody", {}, known.map(({ name, end }) =>
      h("tr", {}, h("th", { scope: "row" }, t(`waterfall.stage.${name}`)), h("td", {}, told(end))))));
}

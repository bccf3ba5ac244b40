/** A report's figures by what they depend on, and by the day. */

import { api, operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { lineChart } from "./chart.js";
import { byModel, scaleOf, valuedFirst } from "./figures.js";
import { between, dimension, figure, interval } from "./words.js";

/** Means by model, emotion and so on. */
export function groups(report) {
  const usable = report.breakdowns.filter((each) => each.groups.length);
  if (!usable.length) return null;
  const place = h("div", { class: "forest" });
  const by = choice("by", usable.map((each) => [each.by, dimension(each.by)]), draw);
  const metric = choice("by-metric", valuedFirst(report.metrics).map((each) => [each.name, each.title]), draw);

  function draw() {
    const chosen = report.metrics.find((each) => each.name === metric.value);
    const rows = usable.find((each) => each.by === by.value).groups.filter((each) => each.metric === chosen.name);
    const scale = scaleOf(chosen, [chosen, ...rows]);
    replace(place, rows.length ? [...rows].sort((one, other) => (other.mean ?? -1e9) - (one.mean ?? -1e9)).map((each) => line(each, chosen, scale))
      : h("p", { class: "empty" }, t("scores.parts.none")));
  }
  draw();
  return h("section", { class: "card stack", "aria-labelledby": "parts-title" },
    h("div", { class: "head" }, h("h2", { id: "parts-title" }, t("scores.parts.title")),
      h("div", { class: "row choices" }, labelled(by, "scores.parts.by"), labelled(metric, "scores.metric"))),
    place);
}

function line(group, metric, scale) {
  return h("div", { class: "forest-line" },
    h("span", { class: "forest-name" }, group.value),
    interval(group, scale, { better: metric.higher_is_better }),
    h("span", { class: "numeric" }, h("strong", {}, figure(group.mean, metric)),
      h("span", { class: "muted small" }, ` ${group.mean === null ? "" : between({ ...metric, ...group })}`)),
    h("span", { class: "muted small numeric" }, t("scores.over", { n: number(group.n) })));
}

/** One metric by the day of the sessions, with a line for each model. */
export function overDays(report) {
  const place = h("div", {});
  const metric = choice("days-metric", valuedFirst(report.metrics).map((each) => [each.name, each.title]), draw);

  async function draw() {
    const chosen = report.metrics.find((each) => each.name === metric.value);
    try {
      const { points } = await api(`/api/reports/${report.name}/trend?metric=${chosen.name}`, { token: operator.token });
      if (metric.value !== chosen.name) return; // another was chosen meanwhile
      replace(place, points.length ? lineChart({
        label: t("scores.days.label", { metric: chosen.title }),
        series: byModel(points, t("scores.days.all")),
        smallest: chosen.smallest, largest: chosen.largest,
        tell: (value) => figure(value, chosen), words: { when: t("scores.days.day"), n: t("scores.n") },
      }) : h("p", { class: "empty" }, t("scores.days.none")));
    } catch (error) {
      replace(place, h("p", { class: "complaint", role: "alert" }, error.message));
    }
  }
  draw();
  return h("section", { class: "card stack", "aria-labelledby": "days-title" },
    h("div", { class: "head" }, h("div", {}, h("h2", { id: "days-title" }, t("scores.days.title")),
      h("p", { class: "muted small" }, t("scores.days.about"))), labelled(metric, "scores.metric")),
    place);
}

/** A list to choose from. */
export function choice(id, options, changed, value = null) {
  return h("select", { class: "field", id, on: { change: changed } },
    options.map(([name, words]) => h("option", { value: name, selected: name === value }, words)));
}

export function labelled(field, key) {
  return h("label", { class: "choice", for: field.id }, h("span", {}, t(key)), field);
}

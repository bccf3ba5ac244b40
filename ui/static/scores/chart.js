/** Lines over time, told apart by shape as well as colour, with a table for whoever cannot see. */

import { h, replace, svg } from "../core/dom.js";
import { number, when } from "../core/page.js";
import { ticks } from "./figures.js";

const HEIGHT = 240;
const EDGE = { top: 14, right: 22, bottom: 30, left: 48 };
const SHAPES = ["circle", "square", "diamond", "triangle"];

/**
 * @param {{label: string, series: {name: string, points: {x: number, y: number, low: number | null, high: number | null, n: number, name?: string}[]}[],
 *   smallest?: number | null, largest?: number | null, tell: (value: number) => string, words: {when: string, n: string}}} given
 * @returns {HTMLElement}
 */
export function lineChart(given) {
  const box = h("div", { class: "chart-box" });
  const draw = () => { if (box.clientWidth) replace(box, drawing(given, box.clientWidth)); };
  new ResizeObserver(draw).observe(box);
  return h("figure", { class: "chart", "aria-label": given.label }, box, legend(given.series), table(given));
}

function drawing({ series, smallest, largest, label, tell }, width) {
  const all = series.flatMap((each) => each.points);
  const [x, days] = timeScale(all, width);
  const [y, marks] = valueScale(all, smallest, largest);
  const right = width - EDGE.right;
  return svg("svg", { width, height: HEIGHT, role: "img", "aria-label": label },
    marks.map((mark) => [
      svg("line", { class: "grid-line", x1: EDGE.left, x2: right, y1: y(mark), y2: y(mark) }),
      svg("text", { class: "axis-text", x: EDGE.left - 8, y: y(mark) + 4, "text-anchor": "end" }, number(mark)),
    ]),
    days.map((day, index) => svg("text", {
      class: "axis-text", x: x(day), y: HEIGHT - 8,
      "text-anchor": days.length === 1 ? "middle" : index === 0 ? "start" : index === days.length - 1 ? "end" : "middle",
    }, when(day, { month: "short", day: "numeric" }))),
    series.map((each, index) => line(each, index, x, y, tell)));
}

function line({ name, points }, index, x, y, tell) {
  const path = points.map((point, at) => `${at ? "L" : "M"}${x(point.x)} ${y(point.y)}`).join("");
  return svg("g", { class: `line line-${index % SHAPES.length}` },
    points.map((point) => point.low === null || point.high === null ? null
      : svg("line", { class: "reach", x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) })),
    svg("path", { d: path }),
    points.map((point) => svg("g", { transform: `translate(${x(point.x)} ${y(point.y)})` },
      shape(index), svg("title", {}, `${point.name ?? name} · ${when(point.x, { dateStyle: "medium" })} · ${tell(point.y)} · n ${number(point.n)}`))));
}

function shape(index) {
  switch (SHAPES[index % SHAPES.length]) {
    case "square": return svg("rect", { x: -4.5, y: -4.5, width: 9, height: 9 });
    case "diamond": return svg("path", { class: "dot", d: "M0 -6L6 0L0 6L-6 0Z" });
    case "triangle": return svg("path", { class: "dot", d: "M0 -6L6 5L-6 5Z" });
    default: return svg("circle", { r: 5 });
  }
}

function legend(series) {
  if (series.length < 2) return null;
  return h("ul", { class: "legend" }, series.map(({ name }, index) =>
    h("li", { class: `line line-${index % SHAPES.length}` },
      svg("svg", { width: 34, height: 14, "aria-hidden": "true" },
        svg("path", { d: "M1 7L33 7" }), svg("g", { transform: "translate(17 7)" }, shape(index))), name)));
}

function table({ series, label, tell, words }) {
  return h("table", { class: "sr-only" }, h("caption", {}, label),
    h("tbody", {}, series.flatMap(({ name, points }) => points.map((point) =>
      h("tr", {}, h("th", { scope: "row" }, point.name ?? name), h("td", {}, `${words.when} ${when(point.x, { dateStyle: "medium" })}`),
        h("td", {}, tell(point.y)), h("td", {}, `${words.n} ${number(point.n)}`))))));
}

function timeScale(points, width) {
  const moments = [...new Set(points.map((point) => point.x))].sort((one, other) => one - other);
  const [first, last] = [moments[0], moments.at(-1)];
  const inside = width - EDGE.left - EDGE.right;
  const x = (moment) => Math.round(EDGE.left + 10 + (inside - 20) * (first === last ? 0.5 : (moment - first) / (last - first)));
  const room = Math.max(2, Math.floor(inside / 90));
  const shown = first === last ? [first] : Array.from({ length: Math.min(room, moments.length) },
    (_, index, all = Math.min(room, moments.length)) => first + ((last - first) * index) / (all - 1));
  return [x, shown];
}

function valueScale(points, smallest, largest) {
  const known = points.flatMap(({ y, low, high }) => [y, low, high]).filter((each) => each !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = (high - low || Math.abs(high) || 1) * 0.2;
  const marks = ticks(Math.max(smallest ?? -Infinity, low - room), Math.min(largest ?? Infinity, high + room), 4);
  const from = Math.min(marks[0] ?? low, low);
  const to = Math.max(marks.at(-1) ?? high, high);
  const inside = HEIGHT - EDGE.top - EDGE.bottom;
  const y = (value) => Math.round((EDGE.top + inside * (1 - (value - from) / (to - from || 1))) * 10) / 10;
  return [y, marks];
}

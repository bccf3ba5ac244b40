/** Strengths with their intervals, drawn on one scale. The scale is pure. */

import { svg } from "../core/dom.js";

const MIDDLE = 1000;
const NARROWEST = 150; // points on either side of the middle that are always shown
const WIDEST = 600; // beyond it an interval is cut off, with an arrow
const STEPS = [50, 100, 200];
const MOST_TICKS = 7;

/**
 * @param {{elo_low: number, elo_high: number}[]} systems
 * @returns {{low: number, high: number, ticks: number[], at: (points: number) => number}} `at`: 0 to 100
 */
export function scaleOf(systems) {
  const reach = systems.flatMap(({ elo_low, elo_high }) => [MIDDLE - elo_low, elo_high - MIDDLE]);
  const half = Math.min(WIDEST, Math.max(NARROWEST, ...reach));
  const step = STEPS.find((each) => (2 * half) / each <= MOST_TICKS) ?? STEPS.at(-1);
  const low = MIDDLE - Math.ceil(half / step) * step;
  const high = MIDDLE + Math.ceil(half / step) * step;
  const ticks = [];
  for (let tick = low; tick <= high; tick += step) ticks.push(tick);
  const at = (points) => Math.min(100, Math.max(0, ((points - low) / (high - low)) * 100));
  return { low, high, ticks, at };
}

/** One row: a line for the interval, a point for the strength. */
export function interval({ elo, elo_low, elo_high }, scale) {
  const per = (points) => `${scale.at(points)}%`;
  const cut = [elo_low < scale.low && "0%", elo_high > scale.high && "100%"].filter(Boolean);
  return svg("svg", { class: "forest", width: "100%", height: "28", "aria-hidden": "true" },
    scale.ticks.map((tick) => svg("line", { class: tick === MIDDLE ? "forest-middle" : "forest-grid", x1: per(tick), x2: per(tick), y1: 0, y2: 28 })),
    svg("line", { class: "forest-line", x1: per(elo_low), x2: per(elo_high), y1: 14, y2: 14 }),
    [elo_low, elo_high].filter((end) => end >= scale.low && end <= scale.high).map((end) =>
      svg("line", { class: "forest-line", x1: per(end), x2: per(end), y1: 9, y2: 19 })),
    cut.map((x) => svg("svg", { x, y: 14, overflow: "visible" },
      svg("path", { class: "forest-arrow", d: x === "0%" ? "M0 0l8 -5v10Z" : "M0 0l-8 -5v10Z" }))),
    svg("circle", { class: "forest-point", cx: per(elo), cy: 14, r: 6 }));
}

/** The numbers under the rows. */
export function axis(scale, write) {
  return svg("svg", { class: "forest forest-axis", width: "100%", height: "22", "aria-hidden": "true" },
    scale.ticks.map((tick, place) => svg("text",
      { x: `${scale.at(tick)}%`, y: 16, "text-anchor": place === 0 ? "start" : place === scale.ticks.length - 1 ? "end" : "middle" },
      write(tick))));
}

/** The signs of this page, drawn with one pen. */

import { svg } from "../core/dom.js";

const LINES = {
  mic: ["M12 3.5a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0v-5a3 3 0 0 1 3-3Z", "M5.5 11a6.5 6.5 0 0 0 13 0", "M12 17.5V21"],
  check: ["M5 12.5l4.5 4.5L19 7.5"],
  warn: ["M12 4.5l8.5 15h-17L12 4.5Z", "M12 10.5v4", "M12 17h.01"],
};
const SHAPES = {
  play: ["M8 5.2v13.6L19 12 8 5.2Z"],
  pause: ["M7 5.5h3.6v13H7Z", "M13.4 5.5H17v13h-3.6Z"],
  stop: ["M7 7h10v10H7Z"],
};

/** @param {string} name */
export function icon(name) {
  const filled = name in SHAPES;
  const pen = filled
    ? { fill: "currentColor", stroke: "currentColor", "stroke-width": 1.5 }
    : { fill: "none", stroke: "currentColor", "stroke-width": 1.9 };
  return svg("svg",
    { class: "compare-icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false", "stroke-linejoin": "round", "stroke-linecap": "round", ...pen },
    (SHAPES[name] ?? LINES[name] ?? []).map((d) => svg("path", { d })));
}

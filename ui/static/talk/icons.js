/** The few signs of the page, drawn with one pen. */

import { svg } from "../core/dom.js";

const PATHS = {
  mic: ["M12 3.5a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0v-5a3 3 0 0 1 3-3Z", "M5.5 11a6.5 6.5 0 0 0 13 0", "M12 17.5V21"],
  muted: ["M9 9v2.5a3 3 0 0 0 4.8 2.4", "M15 11.3V6.5a3 3 0 0 0-5.8-1", "M5.5 11a6.5 6.5 0 0 0 10 5.5", "M18.5 11a6.5 6.5 0 0 1-.6 2.7", "M12 17.5V21", "M4 3.5l16 17"],
  wave: ["M4 10v4", "M8 7v10", "M12 4v16", "M16 7v10", "M20 10v4"],
  dots: ["M6 12h.01", "M12 12h.01", "M18 12h.01"],
  speaker: ["M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4Z", "M15.5 9a4.2 4.2 0 0 1 0 6", "M18.2 6.4a8 8 0 0 1 0 11.2"],
  hand: ["M12 8.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z", "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z"],
  play: ["M8 5.5v13l10.5-6.5L8 5.5Z"],
  pen: ["M4.5 19.5l1-4L16 5l3 3L8.5 18.5l-4 1Z", "M14 7l3 3"],
  stop: ["M7 7h10v10H7Z"],
  end: ["M3.5 14.5c4.7-4.6 12.3-4.6 17 0l-2.6 2.6-3.4-1.9v-2.6a10 10 0 0 0-5 0v2.6l-3.4 1.9-2.6-2.6Z"],
  options: ["M4 7h9", "M17 7h3", "M15 5v4", "M4 12h3", "M11 12h9", "M9 10v4", "M4 17h9", "M17 17h3", "M15 15v4"],
  help: ["M9.2 9a2.9 2.9 0 1 1 4.2 2.6c-.9.5-1.4 1-1.4 2.1", "M12 17.2h.01"],
  send: ["M5 12h13", "M12.5 6l6 6-6 6"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  down: ["M6 9.5l6 6 6-6"],
  warn: ["M12 4.5l8.5 15h-17L12 4.5Z", "M12 10.5v4", "M12 17h.01"],
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  return svg(
    "svg",
    { class: "sign", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    ...(PATHS[name] ?? []).map((d) => svg("path", { d })),
  );
}

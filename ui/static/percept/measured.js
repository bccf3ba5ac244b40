/** What was measured of a voice rather than judged. */

import { h } from "../core/dom.js";
import { number, t } from "../core/page.js";

const FIGURES = [
  ["f0_mean", 0], ["f0_range", 0], ["speaking_rate", 1], ["pause_ratio", 0], ["loudness", 0], ["snr", 0],
];

/** @param {Record<string, number | null>} [prosody] @returns {HTMLElement | null} */
export function measured(prosody = {}) {
  const known = FIGURES.filter(([name]) => typeof prosody[name] === "number");
  if (!known.length) return null;
  return h("dl", {}, known.map(([name, digits]) => h("div", {},
    h("dt", {}, t(`percept.measured.${name}`)),
    h("dd", {}, t(`percept.measured.unit.${name}`, { n: figure(name, prosody[name], digits) })))));
}

function figure(name, value, digits) {
  return number(name === "pause_ratio" ? value * 100 : value, { maximumFractionDigits: digits });
}

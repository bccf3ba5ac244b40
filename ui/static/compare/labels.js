/** What systems are called: the shipped ones in the page's language, others as their operator says. */

import { has, t } from "../core/page.js";

/** @param {string} label as the server tells it */
export function labelled(label) {
  const key = `compare.label.${label.toLowerCase().replace(/[^a-z]+/g, "_")}`;
  return has(key) ? t(key) : label;
}

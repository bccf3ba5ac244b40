/** Figures as people read them, in the page's language. */

import { has, number, t } from "../core/page.js";

export function ms(value) {
  if (value === null || value === undefined) return "–";
  const digits = Math.abs(value) < 10 ? 1 : 0;
  return number(value, { style: "unit", unit: "millisecond", maximumFractionDigits: digits });
}

export function percent(value) {
  return number(value / 100, { style: "percent", maximumFractionDigits: value < 10 ? 1 : 0 });
}

export function megabytes(value) {
  return value < 1024
    ? number(value, { style: "unit", unit: "megabyte", maximumFractionDigits: 0 })
    : number(value / 1024, { style: "unit", unit: "gigabyte", minimumFractionDigits: 1, maximumFractionDigits: 1 });
}

/** The two largest parts of a time. */
export function lasting(seconds) {
  const parts = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const first = Math.max(0, parts.findIndex(([, size]) => seconds >= size));
  let left = seconds;
  const said = [];
  for (const [unit, size] of parts.slice(first, first + 2)) {
    said.push(number(Math.floor(left / size), { style: "unit", unit, unitDisplay: "short" }));
    left %= size;
  }
  return (seconds < 1 ? said.slice(0, 0) : said).join(" ") || number(0, { style: "unit", unit: "second", unitDisplay: "short" });
}

/** A text of a family of names, or the bare name where nobody has put it into words. */
export function named(family, name) {
  const key = `${family}.${name}`;
  return has(key) ? t(key) : name.replaceAll("_", " ");
}

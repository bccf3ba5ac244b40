/** What was heard, in the page's language. */

import { has, number, t } from "../core/page.js";
import { findings, stands } from "./words.js";

/** A name of a dimension: "tired", "a dog". */
export function named(dimension, name) {
  const own = `percept.name.${dimension}.${name}`; // where one word means two things
  return t(has(own) ? own : `percept.name.${name}`);
}

export function percent(chance) {
  return number(chance, { style: "percent", maximumFractionDigits: 0 });
}

export function seconds(value) {
  return t("percept.seconds", { n: number(value, { maximumFractionDigits: 1 }) });
}

/**
 * A percept in a few words, the surest things only.
 * @param {object | null} percept
 * @param {{showAgeGender?: boolean}} [options]
 */
export function perceptLine(percept, { showAgeGender = false } = {}) {
  if (!percept) return t("percept.nothing");
  const all = findings(percept, { showAgeGender });
  const told = all.filter(stands).map(({ dimension, name }) => named(dimension, name));
  const { conflict } = percept;
  if (conflict) {
    const [words, voice] = [conflict.words, conflict.voice].map((name) => named("emotion", name));
    told.push(t("percept.conflict.short", { words, voice }));
  }
  if (told.length) return told.join(t("percept.comma"));
  const feeling = all.find(({ dimension }) => dimension === "emotion");
  return feeling?.sure ? named("emotion", feeling.name) : t("percept.unsure");
}

/** Bars that move: a single one, and those of the emotions. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { named, percent } from "./speaking.js";
import { DIMENSIONS, EMOTIONS, findings } from "./words.js";

const [EMOTION] = DIMENSIONS;

/** @returns {{element: HTMLElement, show(share: number): void}} */
export function bar() {
  const filled = h("i", {});
  const element = h("span", { class: "bar", "aria-hidden": "true" }, filled);
  return {
    element,
    show(share) {
      filled.style.transform = `scaleX(${Math.min(1, Math.max(0, share)).toFixed(3)})`;
    },
  };
}

/** All that can be heard, always in the same order, so that only the bars move. */
export function emotionBars() {
  const unsure = h("span", { class: "chip unsure", hidden: true }, t("percept.unsure"));
  const lines = new Map(EMOTIONS.map((name) => [name, line(name)]));
  const element = h("div", { class: "emotions" },
    h("div", { class: "label head" }, t("percept.dimension.emotion"), unsure),
    h("ul", {}, [...lines.values()].map((each) => each.element)));

  function show(percept) {
    const found = findings(percept).find(({ dimension }) => dimension === EMOTION.name);
    const deaf = new Set(percept.not_heard ?? []);
    const doubtful = !found?.sure;
    unsure.hidden = !doubtful;
    element.classList.toggle("unsure", doubtful);
    for (const [name, each] of lines) {
      each.element.hidden = deaf.has(name) || !(name in (percept.emotion ?? {}));
      each.element.classList.toggle("likeliest", !doubtful && name === found.name);
      each.show(percept.emotion?.[name] ?? 0);
    }
  }

  function clear() {
    unsure.hidden = true;
    for (const each of lines.values()) each.show(0);
  }

  return { element, show, clear };
}

function line(name) {
  const level = bar();
  const chance = h("span", { class: "chance" });
  const element = h("li", {}, h("span", { class: "name" }, named("emotion", name)), level.element, chance);
  return {
    element,
    show(share) {
      level.show(share);
      chance.textContent = percent(share);
    },
  };
}

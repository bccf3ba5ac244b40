/** What is heard in a voice, as it becomes known: each thing with how sure it is. */

import { h, replace, stylesheet } from "../core/dom.js";
import { settings, t } from "../core/page.js";
import { affectPlane } from "./plane.js";
import { measured } from "./measured.js";
import { bar, emotionBars } from "./bars.js";
import { named, percent, perceptLine, seconds } from "./speaking.js";
import { affect, DIMENSIONS, findings, isUnknown, PRIVATE, sounds } from "./words.js";

export { perceptLine } from "./speaking.js";
export { perceptTimeline } from "./timeline.js";

stylesheet(import.meta.url, "./panel.css");

const ROWS = ["age", "gender", "speed", "volume", "physiological"];
const AROUND = new Set(DIMENSIONS.filter(({ field }) => field === "environment").map(({ name }) => name));

/**
 * @param {{showAgeGender?: boolean}} [options]
 * @returns {{element: HTMLElement, show(percept: object, options?: {final?: boolean}): void,
 *   clear(): void}}
 */
export function perceptPanel({ showAgeGender = settings.show_age_gender } = {}) {
  const state = h("span", { class: "chip", hidden: true });
  const spoken = h("p", { class: "sr-only", "aria-live": "polite" });
  const emotions = emotionBars();
  const plane = affectPlane();
  const rows = new Map(ROWS.filter((name) => showAgeGender || !PRIVATE.has(name)).map((name) => [name, row(name)]));
  const heard = group("sounds");
  const around = group("around");
  const conflict = h("p", { class: "conflict", hidden: true });
  const figures = h("div");
  const details = h("details", { class: "measured", hidden: true },
    h("summary", {}, t("percept.measured.title")), figures);
  const invitation = h("p", { class: "muted invitation" }, t("percept.invitation"));
  const found = h("div", { class: "found", hidden: true },
    conflict,
    h("div", { class: "feeling" }, emotions.element, h("figure", { class: "where" }, plane.element)),
    h("div", { class: "rows" }, [...rows.values()].map(({ element }) => element)),
    heard.element, around.element, details);
  const element = h("section", { class: "percept", "aria-label": t("percept.title") },
    h("header", {}, h("h2", {}, t("percept.title")), state), spoken, invitation, found);

  function show(percept, { final = false } = {}) {
    invitation.hidden = true;
    found.hidden = state.hidden = false;
    state.textContent = t(final ? "percept.whole" : "percept.so_far");
    const all = findings(percept, { showAgeGender });
    emotions.show(percept);
    plane.show(affect(percept), !isUnknown(percept, "emotion"));
    for (const [name, each] of rows) each.show(all.filter(({ dimension }) => dimension === name));
    heard.show(sounds(percept).map(({ name, chance, at }) =>
      fact("nonverbal", { name, chance }, at === null ? null : t("percept.at", { time: seconds(at) }))),
    isUnknown(percept, "nonverbal"));
    const places = all.filter(({ dimension }) => AROUND.has(dimension));
    around.show(places.filter(({ name }) => name).map((each) => fact(each.dimension, each)),
      places.length > 0 && places.every(({ unknown }) => unknown));
    tellConflict(percept.conflict);
    const told = measured(percept.prosody);
    details.hidden = !told;
    replace(figures, told);
    if (final) spoken.textContent = t("percept.said", { what: perceptLine(percept, { showAgeGender }) });
  }

  function tellConflict(between) {
    conflict.hidden = !between;
    if (!between) return;
    const [words, voice] = [between.words, between.voice].map((name) => named("emotion", name));
    replace(conflict, h("span", {}, t("percept.conflict.full", { words, voice })),
      h("span", { class: "chance" }, percent(between.strength)));
  }

  function clear() {
    invitation.hidden = false;
    found.hidden = state.hidden = true;
    spoken.textContent = "";
    emotions.clear();
    plane.clear();
  }

  return { element, show, clear };
}

/** One line of the panel: what it is about, what it is, and how surely. */
function row(dimension) {
  const value = h("span", { class: "value" });
  const chance = h("span", { class: "chance" });
  const level = bar();
  const element = h("div", { class: "line", hidden: true },
    h("span", { class: "label" }, t(`percept.dimension.${dimension}`)), value, level.element, chance);

  function show(found) {
    const first = found[0];
    element.hidden = !first;
    if (!first) return;
    const sure = found.filter((each) => each.sure);
    element.classList.toggle("unsure", !sure.length);
    value.textContent = sure.length
      ? sure.map(({ name }) => named(dimension, name)).join(t("percept.comma"))
      : t("percept.unsure");
    const shown = first.unknown ? null : first.chance;
    level.show(shown ?? 0);
    chance.textContent = shown === null ? "" : percent(shown);
    element.title = sure.length || shown === null ? "" : t("percept.perhaps", { what: named(dimension, first.name) });
  }

  return { element, show };
}

/** Several things that may be there at once. */
function group(name) {
  const list = h("ul");
  const unsure = h("span", { class: "chip unsure" }, t("percept.unsure"));
  const element = h("div", { class: "group", hidden: true },
    h("span", { class: "label" }, t(`percept.group.${name}`)), list, unsure);

  function show(facts, unknown) {
    element.hidden = !facts.length && !unknown;
    unsure.hidden = !unknown || facts.length > 0;
    list.hidden = !facts.length;
    replace(list, facts);
  }

  return { element, show };
}

function fact(dimension, { name, chance, sure = chance >= 0.5 }, beside = null) {
  return h("li", { class: sure ? "chip fact" : "chip fact unsure" },
    h("span", {}, named(dimension, name)),
    h("span", { class: "chance" }, percent(chance)),
    sure ? null : h("span", {}, t("percept.unsure")),
    beside && h("span", { class: "beside" }, beside));
}

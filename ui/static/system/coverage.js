/** What the perception weights can hear, and how well that is known. */

import { h } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { named } from "./words.js";

/** @param {any} perception of /api/system */
export function coverage(perception) {
  const { weights, licence, attributes } = perception;
  const heard = attributes.filter((each) => each.heard).length;
  const head = [
    h("h2", { id: "coverage-title" }, t("system.coverage.title")),
    h("p", { class: "muted small" }, attributes.length
      ? t("system.coverage.about", { weights, heard: number(heard), total: number(attributes.length) })
      : t("system.coverage.none")),
    licence ? h("p", { class: "muted small" }, t("system.coverage.licence", { licence })) : null,
  ];
  return h("section", { class: "card stack", "aria-labelledby": "coverage-title" },
    h("div", {}, head),
    attributes.length ? h("div", { class: "dimensions" }, dimensions(attributes)) : null,
    attributes.length ? figures(attributes) : null);
}

function dimensions(attributes) {
  return Object.entries(grouped(attributes)).map(([dimension, found]) =>
    h("div", { class: "dimension" },
      h("h3", {}, named("system.dimension", dimension)),
      h("ul", {}, found.map((each) =>
        h("li", { class: each.heard ? "chip" : "chip deaf" },
          h("i", { "aria-hidden": "true" }, each.heard ? "✓" : "–"), word(each.name),
          each.heard ? null : h("span", { class: "sr-only" }, t("system.coverage.deaf")))))));
}

function figures(attributes) {
  return h("details", {},
    h("summary", {}, t("system.coverage.figures")),
    h("div", { class: "wide" }, h("table", {},
      h("thead", {}, h("tr", {}, ["what", "how", "figure"].map((name) => h("th", { scope: "col" }, t(`system.coverage.${name}`))))),
      h("tbody", {}, attributes.map((each) =>
        h("tr", {}, h("th", { scope: "row" }, word(each.name)), h("td", {}, named("system.how", each.how.replaceAll(" ", "_"))),
          h("td", {}, each.figure ?? "–")))))));
}

function grouped(attributes) {
  const groups = {};
  for (const each of attributes) (groups[each.dimension] ??= []).push(each);
  return groups;
}

function word(name) {
  return named("percept.name", name);
}

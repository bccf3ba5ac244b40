/** How a voice changed in the course of a conversation. */

import { h, stylesheet, svg } from "../core/dom.js";
import { t } from "../core/page.js";
import { named, percent, perceptLine, seconds } from "./speaking.js";
import { affect, findings, sounds } from "./words.js";

stylesheet(import.meta.url, "./timeline.css");

const LONGEST = 30; // seconds one percept speaks for, at most
const LINES = ["valence", "arousal"];

/**
 * @param {{at: number, percept: object, final?: boolean}[]} list `at`: up to which second of the
 *   conversation was listened
 * @param {{start?: number, end?: number}} [span] what the width stands for; else all of it
 * @returns {HTMLElement}
 */
export function perceptTimeline(list, { start = 0, end } = {}) {
  const percepts = [...list].sort((one, other) => one.at - other.at);
  const until = end ?? Math.max(1, ...percepts.map(({ at }) => at));
  const across = (moment) => ((moment - start) / (until - start)) * 100;
  if (!percepts.length) return h("p", { class: "muted" }, t("percept.timeline.empty"));
  return h("figure", { class: "percept-timeline" },
    lane("emotion", spans(percepts).map((each) => block(each, across))),
    ...LINES.map((name) => lane(name, curve(percepts, name, across))),
    lane("sounds", marks(percepts, across)),
    table(percepts));
}

/** From where to where each percept speaks: back to the one before it, or as long as it listened. */
export function spans(percepts) {
  return percepts.map((each, index) => {
    const before = percepts[index - 1]?.at ?? 0;
    const heard = Math.min(each.percept.seconds || LONGEST, LONGEST);
    return { ...each, from: Math.max(before, each.at - heard) };
  }).filter(({ from, at }) => at > from);
}

function lane(name, content) {
  return h("div", { class: `lane lane-${name}`, "aria-hidden": "true" },
    h("span", { class: "lane-name" }, t(`percept.timeline.${name}`)),
    h("div", { class: "lane-track" }, content));
}

function block({ from, at, percept }, across) {
  const found = findings(percept).find(({ dimension }) => dimension === "emotion");
  const sure = Boolean(found?.sure);
  const name = sure ? named("emotion", found.name) : t("percept.unsure");
  const strength = sure ? Math.round(10 + 45 * found.chance) : 0;
  return h("span", {
    class: sure ? "block" : "block unsure",
    title: `${seconds(at)}: ${name}${sure ? ` ${percent(found.chance)}` : ""}`,
    style: `left:${across(from)}%;width:${across(at) - across(from)}%;--strength:${strength}%`,
  }, h("span", {}, name));
}

function curve(percepts, dimension, across) {
  const known = percepts.filter(({ percept }) => affect(percept));
  const path = known.map(({ at, percept }, index) => {
    const y = 100 - ((affect(percept)[dimension] - 1) / 4) * 100;
    return `${index ? "L" : "M"}${across(at).toFixed(2)} ${y.toFixed(1)}`;
  }).join("");
  return svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none" },
    svg("path", { d: "M0 50H100", class: "middle" }), svg("path", { d: path, class: "curve" }));
}

function marks(percepts, across) {
  const finals = percepts.filter(({ final }) => final !== false);
  return (finals.length ? finals : percepts).flatMap(({ at, percept }) =>
    sounds(percept).filter(({ chance }) => chance >= 0.5).map(({ name, chance, at: when }) => {
      const moment = when === null ? at : at - (percept.seconds ?? 0) + when;
      return h("span", { class: "mark", style: `left:${across(moment)}%`, title: `${seconds(moment)}: ${percent(chance)}` },
        named("nonverbal", name));
    }));
}

function table(percepts) {
  return h("table", { class: "sr-only" },
    h("caption", {}, t("percept.timeline.title")),
    h("tbody", {}, percepts.map(({ at, percept }) =>
      h("tr", {}, h("th", { scope: "row" }, seconds(at)), h("td", {}, perceptLine(percept))))));
}

/** Scales from 1 to 5: faces for one click, and rows of questions. */

import { h, svg } from "../core/dom.js";
import { t } from "../core/page.js";

export const POINTS = [1, 2, 3, 4, 5];
/** EchoMind's four text dimensions and vocal empathy. */
export const QUESTIONS = ["ctx_fit", "resp_nat", "colloq_deg", "speech_rel", "vocal_empathy"];

// From a frown to a laugh.
const FACES = [
  "M7.6 18q4.4-5.4 8.8 0",
  "M9 16.7q3-1.5 6 0",
  "M8.5 16.2h7",
  "M9 15.4q3 1.8 6 0",
  "M7.3 13.8h9.4q-.8 4.7-4.7 4.7t-4.7-4.7z",
];
let count = 0; // of groups, whose radios need a name of their own

/**
 * Five faces to choose from.
 * @param {{label: string, onchoose: (score: number) => void}} options
 */
export function faces({ label, onchoose }) {
  const said = h("span", { class: "face-word", "aria-hidden": "true" });
  const radios = points(label, (score) => {
    said.textContent = t(`rate.face.${score}`);
    onchoose(score);
  }, (score) => [face(score), h("span", { class: "sr-only" }, t(`rate.face.${score}`))], (score) => t(`rate.face.${score}`));
  return h("div", { class: "faces" }, radios, said);
}

/**
 * A question with its two ends in words.
 * @param {string} name of the score
 * @param {(score: number) => void} onchoose
 */
export function question(name, onchoose) {
  const ask = t(`rate.${name}.ask`);
  const ends = [t(`rate.${name}.low`), t(`rate.${name}.high`)];
  const spoken = { 1: ends[0], 5: ends[1] };
  const radios = points(ask, onchoose, (score) => [
    h("span", { class: "number", "aria-hidden": "true" }, score),
    h("span", { class: "sr-only" }, spoken[score] ? `${score}: ${spoken[score]}` : String(score)),
  ]);
  return h("div", { class: "question", dataset: { score: name } },
    h("p", { class: "ask", "aria-hidden": "true" }, ask), radios,
    h("p", { class: "ends muted small", "aria-hidden": "true" }, ends.map((end) => h("span", {}, end))));
}

function points(label, onchoose, content, title = () => null) {
  const group = `rate-${(count += 1)}`;
  return h("div", { class: "points", role: "radiogroup", "aria-label": label }, POINTS.map((score) =>
    h("label", { class: "point", title: title(score) },
      h("input", {
        type: "radio", class: "sr-only", name: group, value: score,
        on: { change: () => onchoose(score) },
      }), content(score))));
}

function face(score) {
  return svg("svg", { viewBox: "0 0 24 24", class: `face face-${score}`, "aria-hidden": "true" },
    svg("circle", { cx: 12, cy: 12, r: 10 }),
    svg("path", { d: "M8.8 9.5v.6M15.2 9.5v.6" }),
    svg("path", { d: FACES[score - 1] }));
}

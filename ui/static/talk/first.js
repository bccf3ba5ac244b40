/** The first view: who this is, one button, and what will happen when it is pressed. */

import { keyLink } from "../closing/key.js";
import { h, replace } from "../core/dom.js";
import { language, settings, t } from "../core/page.js";
import { icon } from "./icons.js";
import { orb } from "./orb.js";
import { problemCard } from "./problem.js";
import { queueCard } from "./queue.js";

/**
 * @param {{onStart: () => void, onDemo: () => void, onType: () => void}} on
 * @returns {{element: HTMLElement, busy: (busy: boolean) => void,
 *   problem: (problem: object | null, ways?: {again?: () => void, cancel?: () => void}) => void,
 *   queue: (place: object | null, onLeave: () => void) => void, close: () => void}}
 */
export function firstView({ onStart, onDemo, onType }) {
  const start = orb({ label: t("talk.start") });
  start.show({ phase: "idle", label: t("talk.start"), idle: false });
  start.element.classList.add("orb-start");
  start.element.addEventListener("click", onStart);
  const said = h("div", { class: "first-problem" });
  const demo = settings.demo.length > 0
    ? h("button", { class: "button quiet", type: "button", dataset: { way: "demo" }, on: { click: onDemo } }, icon("play"), t("talk.demo"))
    : null;
  const element = h("section", { class: "first" },
    h("header", { class: "first-head" },
      settings.kiosk && h("p", { class: "first-name" }, settings.name), // else it is at the top
      h("h1", {}, settings.tagline)),
    start.element,
    said,
    h("p", { class: "first-microphone" }, t("talk.microphone")),
    h("p", { class: "muted small" }, t("talk.facts")),
    onlyOne(),
    h("div", { class: "first-ways" }, demo, settings.kiosk ? null : keyLink()));

  const busy = (waiting) => {
    start.element.disabled = waiting;
    start.show({ phase: waiting ? "connecting" : "idle", label: t(waiting ? "talk.starting" : "talk.start"), idle: waiting });
  };
  let line = null;
  const queue = (place, onLeave) => {
    if (!place && !line) return;
    if (place && !line) {
      line = queueCard({ onLeave });
      replace(said, line.element);
      line.show(place);
      said.scrollIntoView({ block: "nearest" });
    } else if (place) line.show(place);
    else {
      line = null;
      replace(said);
    }
  };
  const problem = (wrong, ways = {}) => {
    line = null;
    const others = { type: onType, demo: settings.demo.length > 0 ? onDemo : undefined };
    replace(said, wrong && problemCard(wrong, { ...others, ...ways }));
    if (wrong) said.scrollIntoView({ block: "nearest" });
  };
  return { element, busy, problem, queue, close: start.close };
}

/** Told to whoever may expect another language to be understood. */
function onlyOne() {
  const only = settings.understands;
  if (!only || (language === only && navigator.language.startsWith(only))) return null;
  const named = new Intl.DisplayNames(language, { type: "language" }).of(only);
  return h("p", { class: "small" }, t("talk.only", { language: named }));
}

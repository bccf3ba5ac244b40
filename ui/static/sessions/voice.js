/** How the person sounded: over the whole of the conversation, and at each moment of it. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { perceptPanel, perceptTimeline } from "../percept/panel.js";

const CLOSE = 14; // seconds: in a shorter view there is room for every percept of a turn

/** Percepts of a story in order, `at` as a position. */
export function percepts(story) {
  const all = story.turns.flatMap(({ percepts: heard, end }) => heard.map(({ at, final, percept }) => ({ at: at ?? end, final, percept })));
  return all.sort((one, other) => one.at - other.at);
}

/** Lanes under the timeline, on the same clock. */
export function voiceLanes(story) {
  const heard = percepts(story).map((each) => ({ ...each, at: each.at / story.rate }));
  const element = h("div", { class: "voice-lanes" });
  return {
    element,
    show({ start, end }) {
      if (!heard.length) return;
      const span = { start: start / story.rate, end: end / story.rate };
      const wanted = span.end - span.start > CLOSE ? heard.filter(({ final }) => final) : heard;
      replace(element, perceptTimeline(wanted.length ? wanted : heard, span));
    },
  };
}

/** What was heard in the voice at the playhead, or in the turn that was chosen. */
export function voicePanel(story) {
  const heard = percepts(story);
  if (!heard.length) return { element: null, choose() {}, follow() {} };
  const panel = perceptPanel();
  panel.element.setAttribute("aria-label", t("sessions.voice"));
  panel.element.querySelector("h2").textContent = t("sessions.voice"); // it speaks to the person elsewhere
  let shown = null;

  function show(each) {
    if (!each || each === shown) return;
    shown = each;
    panel.show(each.percept, { final: each.final });
  }

  const last = (turn) => turn?.percepts.findLast(({ final }) => final) ?? turn?.percepts.at(-1);
  show(last(story.turns.find((turn) => turn.percepts.length)));
  return {
    element: h("div", { class: "card" }, panel.element),
    choose(turn) {
      const asked = turn.role === "user" ? turn : story.turns.findLast(({ role, start }) => role === "user" && start <= turn.start);
      show(last(asked));
    },
    follow(position) {
      show(heard.findLast(({ at }) => at <= position));
    },
  };
}

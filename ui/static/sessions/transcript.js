/** What was said, turn by turn, in step with the playhead. */

import { operator } from "../core/api.js";
import { h } from "../core/dom.js";
import { settings, t } from "../core/page.js";
import { perceptLine } from "../percept/panel.js";
import { rateReply } from "../rate/rate.js";
import { latencyBadge } from "../waterfall/waterfall.js";
import { clock } from "./scale.js";

/**
 * @param {any} story
 * @param {{audible: boolean, choose: (turn: any) => void, from: (turn: any) => void}} means
 */
export function transcript(story, means) {
  if (!story.turns.length) return { element: h("p", { class: "muted" }, t("sessions.said.nothing")), choose() {}, follow() {} };
  const lines = new Map(story.turns.map((turn) => [turn.item_id, line(turn, story.rate, means)]));
  const element = h("ol", { class: "said" }, [...lines.values()]);
  let chosen = null;
  let current = null;

  /** A reply that was chosen can be judged at once. */
  function offerRating(turn) {
    const place = lines.get(turn?.item_id)?.querySelector(".judge");
    if (!place || place.childElementCount) return;
    place.append(h("span", { class: "muted small" }, t("sessions.ratings.judge")),
      rateReply({ sessionId: story.id, secret: operator.token, itemId: turn.item_id }));
  }

  return {
    element,
    choose(turn) {
      lines.get(chosen)?.classList.remove("chosen");
      chosen = turn?.item_id ?? null;
      lines.get(chosen)?.classList.add("chosen");
      offerRating(turn);
      lines.get(chosen)?.scrollIntoView({ block: "nearest", behavior: calm() });
    },
    /** Mark the turn that sounds at a position, of those whose channel is heard. */
    follow(position, channel) {
      const audible = ({ role }) => channel === "both" || channel === (role === "user" ? "user" : "reply");
      const sounding = story.turns.findLast((turn) => audible(turn) && position >= turn.start && position < turn.end);
      const now = sounding?.item_id ?? null;
      if (now === current) return;
      lines.get(current)?.removeAttribute("aria-current");
      lines.get(now)?.setAttribute("aria-current", "true");
      current = now;
    },
  };
}

function line(turn, rate, { audible, choose, from }) {
  const user = turn.role === "user";
  const who = t(user ? "sessions.person" : "sessions.reply");
  const start = clock(turn.start / rate);
  const spoken = turn.end > turn.start;
  const play = h("button", { class: "button quiet icon", title: t("sessions.play_turn"), "aria-label": t("sessions.play_turn_of", { who, time: start }), on: { click: () => choose(turn) } }, "▶");
  const onward = h("button", { class: "button quiet small onward", on: { click: () => from(turn) } }, t("sessions.play_from"));
  return h("li", { class: `turn ${user ? "of-user" : "of-reply"}`, dataset: { item: turn.item_id } },
    audible && spoken ? play : h("span", { class: "no-play", "aria-hidden": "true" }, spoken ? "" : "⌨"),
    h("div", { class: "turn-body" },
      h("p", { class: "turn-head" }, h("strong", {}, who), h("span", { class: "mono muted" }, start),
        turn.interrupted ? h("span", { class: "chip cut" }, t("sessions.cut")) : null,
        timing(turn), turn.ratings.map(rating), audible && spoken ? onward : null),
      words(turn), heard(turn), plan(turn), user ? null : h("div", { class: "judge" })));
}

function words(turn) {
  if (turn.text === null && turn.heard === null) return h("p", { class: "muted words" }, t("sessions.said.not_kept"));
  const cut = turn.heard !== null && turn.text !== null && turn.text.startsWith(turn.heard);
  if (!cut) return h("p", { class: "words" }, turn.heard ?? turn.text);
  const rest = turn.text.slice(turn.heard.length).trim();
  return h("p", { class: "words" }, turn.heard, rest ? [" ", h("s", { class: "unheard", title: t("sessions.unheard") }, h("span", { class: "sr-only" }, t("sessions.unheard")), rest)] : null);
}

function heard({ percepts }) {
  const last = percepts.findLast(({ final }) => final) ?? percepts.at(-1);
  if (!last) return null;
  return h("p", { class: "voice-line" }, h("span", { class: "muted" }, t("sessions.heard_as")), " ", perceptLine(last.percept, { showAgeGender: settings.show_age_gender }));
}

function plan({ plan: made }) {
  return made?.line ? h("p", { class: "plan-line muted" }, made.line) : null;
}

function timing({ timing: told, heard_ms: ms }) {
  if (!told) return null;
  return latencyBadge({ stages: told.stages_ms, overhead: told.overhead_ms, heard: ms });
}

function rating({ by, scores }) {
  const given = Object.values(scores);
  if (!given.length) return null;
  const mean = given.reduce((sum, each) => sum + each, 0) / given.length;
  return h("span", { class: "chip", title: t(`sessions.by.${by}`) }, `★ ${mean.toFixed(1)}`, h("span", { class: "sr-only" }, t(`sessions.by.${by}`)));
}

function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

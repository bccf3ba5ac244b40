/** One turn of the conversation, as it is being said and afterwards. */

import { h, replace } from "../core/dom.js";
import { settings, t } from "../core/page.js";
import { perceptLine } from "../percept/panel.js";
import { rateReply } from "../rate/rate.js";
import { latencyBadge } from "../waterfall/waterfall.js";
import { planWords } from "./plan.js";

/**
 * @param {"user"|"assistant"} role
 * @param {AbortSignal} signal fires when the conversation is no longer shown
 * @returns {{element: HTMLLIElement, show: (turn: object, session: object | null) => void}}
 */
export function turnView(role, signal) {
  return role === "user" ? personView() : replyView(signal);
}

function personView() {
  const text = h("p", { class: "turn-text" });
  const sounded = h("p", { class: "turn-note" });
  const who = h("span", { class: "sr-only" }, `${t("talk.you")}: `);
  const element = h("li", { class: "turn turn-user" }, h("div", { class: "turn-body" }, who, text), sounded);
  const show = (turn) => {
    element.classList.toggle("turn-partial", Boolean(turn.partial));
    element.hidden = !turn.text && !turn.partial;
    text.textContent = turn.text || "…";
    const line = turn.percept && !turn.partial ? perceptLine(turn.percept) : "";
    sounded.textContent = line;
    sounded.hidden = !line;
  };
  return { element, show };
}

function replyView(signal) {
  const plan = h("p", { class: "turn-plan", hidden: true });
  const text = h("p", { class: "turn-text" });
  const badge = h("span", { class: "turn-badge" });
  const rating = h("div", { class: "turn-rating" });
  const foot = h("div", { class: "turn-foot" }, badge, rating);
  const who = h("span", { class: "sr-only" }, `${t("talk.reply", { name: settings.name })}: `);
  const element = h("li", { class: "turn turn-reply" }, plan, h("div", { class: "turn-body" }, who, text), foot);
  let timed = null;
  let planned = null;

  const show = (turn, session) => {
    element.classList.toggle("turn-partial", Boolean(turn.partial));
    element.classList.toggle("turn-cut", Boolean(turn.interrupted));
    element.hidden = !turn.text && !turn.unheard && !turn.plan && !turn.failed;
    replace(text, ...words(turn));
    if (turn.plan && turn.plan !== planned) {
      planned = turn.plan;
      plan.hidden = false;
      replace(plan, ...planLine(turn.plan));
    }
    const timing = timingKey(turn.timing);
    if (timing && timing !== timed) {
      timed = timing;
      replace(badge, latencyBadge(turn.timing));
    }
    if (!turn.partial && turn.responseId && session && !rating.childElementCount) {
      const { id: sessionId, secret } = session;
      rating.append(rateReply({ sessionId, secret, itemId: turn.id, signal }));
    }
  };
  return { element, show };
}

function words(turn) {
  const failed = turn.failed && !turn.text ? t("talk.failed") : "";
  return [
    turn.text || failed || (turn.partial ? "…" : ""),
    turn.unheard && " ",
    turn.unheard && h("s", { class: "turn-unheard" }, turn.unheard),
    turn.interrupted && h("span", { class: "chip turn-cut-note" },
      t(turn.broken ? "talk.broken" : turn.unheard ? "talk.unheard" : "talk.interrupted")),
  ];
}

function planLine(plan) {
  const { heard, does } = planWords(plan, t);
  return [
    `${t("talk.plan.heard_first")}: `,
    h("b", {}, heard),
    h("span", { class: "turn-arrow" }, " → "),
    does,
  ];
}

function timingKey(timing) {
  return timing && `${timing.heard ?? ""}/${Object.keys(timing.stages ?? {}).length}`;
}

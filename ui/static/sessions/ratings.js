/** What people thought of a session, and the operator's own judgement. */

import { operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { has, number, t, when } from "../core/page.js";
import { rateConversation } from "../rate/rate.js";
import { session } from "./requests.js";
import { clock } from "./scale.js";

const ARRIVED = 1600; // ms until a rating that was given is stored

/**
 * @param {{id: string, ratings: object[], turns: object[], allowWords: boolean}} given
 */
export function ratingsOf({ id, ratings, turns, allowWords }) {
  const places = new Map(turns.map((turn) => [turn.item_id, clock(turn.start / 24000)]));
  const list = h("div", {});
  const show = (known) => replace(list, known.length
    ? h("ul", { class: "rating-list" }, known.map((each) => one(each, places)))
    : h("p", { class: "muted" }, t("sessions.ratings.none")));
  const again = () => setTimeout(async () => {
    if (list.isConnected) await session(id).then((told) => show(told.ratings), () => {});
  }, ARRIVED);
  const form = h("details", { class: "rate-here" }, h("summary", {}, t("sessions.ratings.add")));
  form.addEventListener("toggle", () => {
    if (!form.open || form.childElementCount > 1) return;
    form.append(rateConversation({ sessionId: id, secret: operator.token, allowWords }));
  });
  for (const event of ["submit", "change"]) form.addEventListener(event, again);
  show(ratings);
  return h("section", { class: "card stack ratings" }, h("h2", {}, t("sessions.ratings.title")), list, form);
}

function one({ by, rater, wall, item_id: item, scores, comment }, places) {
  const about = item ? t("sessions.ratings.reply", { time: places.get(item) ?? "?" }) : t("sessions.ratings.whole");
  return h("li", {},
    h("p", { class: "rating-head" }, h("strong", {}, rater || t(`sessions.by.${by}`)), h("span", { class: "muted" }, about), h("span", { class: "muted" }, when(wall))),
    h("ul", { class: "scores-given" }, Object.entries(scores).map(([name, value]) =>
      h("li", { class: "chip" }, scoreName(name), " ", h("strong", {}, number(value))))),
    comment ? h("blockquote", {}, comment) : null);
}

function scoreName(name) {
  const key = `sessions.score.${name}`;
  return has(key) ? t(key) : name;
}

/** Waiting for a seat: which place, how long it may take, and a way to leave. */

import { h } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { icon } from "./icons.js";

const LONG = 90; // seconds; beyond it minutes are told

/** @param {{onLeave?: () => void}} options without `onLeave` there is another way to leave */
export function queueCard({ onLeave } = {}) {
  const place = h("h2", {});
  const wait = h("p", {});
  const leave = onLeave
    && h("div", { class: "row problem-ways" },
      h("button", { class: "button small", type: "button", dataset: { way: "leave" }, on: { click: onLeave } },
        t("talk.queue.leave")));
  const element = h("section", { class: "card problem queue", role: "status" },
    icon("people"),
    h("div", { class: "problem-words" }, place, wait, h("p", { class: "small" }, t("talk.queue.unheard")), leave));

  /** Only what changed is written, so that it is read out only then. @param {object} queue */
  const show = (queue) => {
    write(place, placed(queue.position));
    write(wait, awaited(queue.seconds));
  };
  return { element, show };
}

/** @param {number} position */
function placed(position) {
  return position === 1 ? t("talk.queue.next") : t("talk.queue.place", { position: number(position) });
}

/** @param {number|null} seconds */
function awaited(seconds) {
  if (seconds === null) return t("talk.queue.unknown");
  if (seconds <= LONG) return t("talk.queue.seconds", { seconds: number(Math.max(10, Math.round(seconds / 10) * 10)) });
  return t("talk.queue.minutes", { minutes: number(Math.round(seconds / 60)) });
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

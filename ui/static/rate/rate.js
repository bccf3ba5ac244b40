/** What people think of a reply, or of all of the conversation. */

import { h, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { Ballot, sendWhenLeft } from "./ballot.js";
import { faces, question, QUESTIONS } from "./scales.js";

stylesheet(import.meta.url, "./rate.css");

const COMMENT_LETTERS = 4000;
const UNKEPT = new Set(["session_not_found", "session_deleted"]);

/**
 * One click says how a reply was, and opens the finer questions.
 * @param {{sessionId: string, secret: string, itemId: string, signal?: AbortSignal}} reply `signal`
 *   fires when it is no longer shown
 * @returns {HTMLElement}
 */
export function rateReply({ sessionId, secret, itemId, signal }) {
  const ballot = new Ballot({ sessionId, secret, itemId });
  const finer = h("div", { class: "finer", hidden: true });
  const done = h("button", { type: "button", class: "button small", on: { click: close } }, t("rate.done"));
  const element = h("div", { class: "rate rate-reply" },
    faces({ label: t("rate.reply"), onchoose }), finer, status(ballot));

  function onchoose(overall) {
    ballot.score("overall", overall);
    if (!finer.childElementCount) finer.append(...rows(ballot), done);
    finer.hidden = false;
  }

  function close() {
    finer.hidden = true;
    ballot.send();
    element.querySelector("input:checked")?.focus();
  }

  sendWhenLeft(ballot, element, signal);
  return element;
}

/**
 * The same for the whole conversation, with room for words where words may be kept.
 * @param {{sessionId: string, secret: string, allowWords: boolean, signal?: AbortSignal}} conversation
 * @returns {HTMLElement}
 */
export function rateConversation({ sessionId, secret, allowWords, signal }) {
  const ballot = new Ballot({ sessionId, secret });
  const words = h("textarea", { class: "field", rows: 3, maxlength: COMMENT_LETTERS, placeholder: t("rate.words_hint") });
  const send = h("button", { type: "submit", class: "button" }, t("rate.send"));
  let said = "";
  const submit = (event) => {
    event.preventDefault();
    said = allowWords ? words.value : "";
    ballot.say(said);
    ballot.send();
  };
  const finer = h("div", { class: "finer", hidden: true }, rows(ballot));
  const onchoose = (overall) => {
    ballot.score("overall", overall);
    finer.hidden = false;
  };
  const element = h("form", { class: "rate rate-conversation", on: { submit } },
    faces({ label: t("rate.conversation"), onchoose }), finer,
    allowWords ? h("label", { class: "words" }, t("rate.words"), words) : null,
    h("div", { class: "row" }, send, status(ballot)));
  ballot.addEventListener("change", () => {
    if (ballot.state === "sent" && words.value === said) words.value = "";
  });
  sendWhenLeft(ballot, element, signal);
  return element;
}

function rows(ballot) {
  return QUESTIONS.map((name) => question(name, (score) => ballot.score(name, score)));
}

/** Whether it has arrived, in words. */
function status(ballot) {
  const element = h("p", { class: "rate-status small", role: "status" });
  ballot.addEventListener("change", () => {
    element.classList.toggle("complaint", ballot.state === "failed");
    element.textContent = told(ballot);
  });
  return element;
}

function told({ state, problem }) {
  if (state === "sent") return t("rate.thanks");
  if (state !== "failed") return "";
  if (UNKEPT.has(problem.code)) return t("rate.unkept");
  if (problem.code === "too_many_ratings") return t("rate.enough");
  return t("rate.failed");
}

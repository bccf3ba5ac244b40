/** Two answers side by side, and the choice between them. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { answerCard } from "./playing.js";
import { sentence } from "./requests.js";

const SIDES = ["a", "b"];
const VOTES = ["a", "tie", "bad", "b"];
const KEYS = { 1: "play:a", 2: "play:b", a: "a", b: "b", t: "tie", x: "bad" };

/**
 * @param {{round: import("./requests.js").Round, sounds: Record<string, ArrayBuffer>,
 *   onVote: (vote: string, comment: string) => Promise<void>}} given
 * @returns {{element: HTMLElement, focus: () => void, close: () => void}}
 */
export function listening({ round, sounds, onVote }) {
  const open = new AbortController();
  let sent = false;
  const cards = Object.fromEntries(SIDES.map((side) => [side, answerCard({
    side, wav: sounds[side], seconds: round.seconds[side],
    onPlay: () => cards[side === "a" ? "b" : "a"].pause(),
    onHeard: () => show(),
  })]));
  const buttons = Object.fromEntries(VOTES.map((vote) => [vote, h("button",
    { class: "button compare-vote", type: "button", dataset: { vote }, "aria-keyshortcuts": keyOf(vote).toUpperCase(), on: { click: () => choose(vote) } },
    t(`compare.vote.${vote}`), h("kbd", { "aria-hidden": "true" }, keyOf(vote).toUpperCase()))]));
  const hint = h("p", { class: "compare-hint", role: "status" });
  const problem = h("p", { class: "complaint", role: "alert" });
  const comment = h("input", { class: "field", maxlength: "2000", id: "compare-comment", autocomplete: "off" });
  const title = h("h2", { tabindex: "-1" }, t("compare.listen.title"));
  const element = h("section", { class: "compare-listen" },
    h("header", { class: "compare-section" }, title, h("p", { class: "muted" }, t("compare.listen.note"))),
    h("div", { class: "compare-pair" }, cards.a.element, cards.b.element),
    hint,
    round.keeping.length > 0 && h("div", { class: "compare-comment" },
      h("label", { for: "compare-comment" }, t("compare.listen.comment")), comment),
    h("div", { class: "compare-votes", role: "group", "aria-label": t("compare.listen.choose") }, VOTES.map((vote) => buttons[vote])),
    problem,
    h("p", { class: "muted small compare-keys" }, t("compare.vote.keys")));

  const ready = () => SIDES.every((side) => cards[side].heard());
  const show = () => {
    for (const button of Object.values(buttons)) button.disabled = sent || !ready();
    const line = sent ? "vote.sending" : ready() ? "listen.choose" : "listen.first";
    if (hint.textContent !== t(`compare.${line}`)) replace(hint, t(`compare.${line}`));
    element.classList.toggle("ready", ready());
  };
  const choose = async (vote) => {
    if (sent || !ready()) return;
    sent = true;
    for (const side of SIDES) cards[side].pause();
    replace(problem);
    show();
    try {
      await onVote(vote, comment.value.trim());
    } catch (error) {
      sent = false;
      replace(problem, sentence(error));
      show();
    }
  };
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select")) return;
    const deed = KEYS[event.key.toLowerCase()];
    if (!deed) return;
    event.preventDefault();
    if (deed.startsWith("play:")) cards[deed.slice(-1)].play();
    else choose(deed);
  };
  document.addEventListener("keydown", press, { signal: open.signal });
  show();
  const close = () => {
    open.abort();
    for (const side of SIDES) cards[side].close();
  };
  return { element, focus: () => title.focus(), close };
}

function keyOf(vote) {
  return Object.keys(KEYS).find((key) => KEYS[key] === vote);
}

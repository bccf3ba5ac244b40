/** The Compare page: a turn, two answers, a choice, and where the systems stand. */

import { h, replace, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { asking } from "./asking.js";
import { board } from "./board.js";
import { keeping } from "./keeping.js";
import { listening } from "./listening.js";
import { mine } from "./mine.js";
import { answer, begin, choose, forget, sentence } from "./requests.js";
import { revealing } from "./revealing.js";
import { working } from "./working.js";

/** @param {HTMLElement} element */
export async function mount(element) {
  await stylesheet(import.meta.url, "./compare.css");
  const stage = h("div", { class: "card compare-stage" });
  const standings = board();
  const terms = keeping();
  const erase = async (round) => {
    await forget(round);
    own.drop(round);
    standings.load();
  };
  const own = mine({ onDelete: erase, onGone: () => standings.load() });
  let view = null;

  const show = (next, name) => {
    view?.close?.();
    view = next;
    stage.dataset.view = name;
    standings.element.hidden = ["work", "listen"].includes(name); // nothing to be led by
    own.element.hidden = name !== "ask";
    replace(stage, next.element);
    next.focus?.();
    return next;
  };
  const ask = () => show(asking({ terms: terms.element, onSpeech: play }), "ask");
  const play = async (speech, clip) => {
    const leaving = new AbortController();
    const heard = clip ? new Audio(clip.url) : null;
    heard?.play().catch(() => {}); // it is only so that one knows what was said
    const close = () => {
      leaving.abort();
      heard?.pause();
    };
    const shown = working({ clip, onCancel: ask });
    show({ ...shown, close }, "work");
    try {
      const round = await begin(speech, { scopes: terms.scopes(), prepared: clip !== null }, shown.step, leaving.signal);
      const [a, b] = await Promise.all([answer(round, "a", leaving.signal), answer(round, "b", leaving.signal)]);
      hear(round, { a, b });
    } catch (error) {
      if (!leaving.signal.aborted) ask().complain(sentence(error));
    }
  };
  const hear = (round, sounds) => {
    const onVote = async (vote, comment) => {
      const told = await choose(round, vote, comment);
      own.add(round, told.kept);
      reveal(round, told);
      standings.load();
    };
    show(listening({ round, sounds, onVote }), "listen");
  };
  const reveal = (round, told) => {
    show(revealing({ round, told, onAgain: ask, onDelete: () => erase(round) }), "reveal");
  };

  replace(element,
    h("div", { class: "compare" },
      h("header", { class: "compare-head" }, h("h1", {}, t("compare.title")), h("p", { class: "compare-lead" }, t("compare.lead"))),
      stage, own.element, standings.element));
  ask();
  const told = await standings.load();
  terms.tellServices(told?.services ?? null);
}

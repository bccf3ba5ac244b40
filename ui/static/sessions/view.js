/** One recorded session: when and how it was, its sound, its words, and what to make of it. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { aboutSession } from "./about.js";
import { deletion } from "./deletion.js";
import { filesOf } from "./files.js";
import { fromAddress, toAddress } from "./filters.js";
import { notesEditor } from "./notes.js";
import { ratingsOf } from "./ratings.js";
import * as requests from "./requests.js";
import { scoresOf } from "./scores.js";
import { soundCard } from "./sound_card.js";

const AGAIN = 3000; // ms, while it is being recorded
const POINTS = 2400;

/**
 * @param {HTMLElement} element
 * @param {string} id
 * @param {(search: string) => void} go
 */
export function sessionView(element, id, go) {
  const ending = new AbortController();
  const { signal } = ending;
  let sound = null;
  let timer = 0;

  const back = h("a", { class: "button quiet back", href: listAddress(), on: { click: leave } }, t("sessions.back"));
  const body = h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "muted", role: "status" }, t("sessions.loading")));
  replace(element, h("article", { class: "session stack" }, back, body));

  function leave(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(listAddress());
  }

  async function load() {
    try {
      await show(await requests.session(id, signal));
    } catch (error) {
      if (signal.aborted) return;
      replace(body, h("div", { class: "card stack", role: "alert" }, h("p", {}, error.message),
        h("div", {}, h("button", { type: "button", class: "button", on: { click: load } }, t("shell.again")))),
      error.code === "session_broken" ? deletion({ id, summary: {} }, load) : null);
    }
    body.removeAttribute("aria-busy");
  }

  async function show(told) {
    const { session, summary } = told;
    if (session.state === "deleted") {
      settle();
      replace(body, aboutSession(told));
      return;
    }
    const story = await requests.story(id, signal);
    const whole = session.audio && session.state !== "recording" ? await outline() : null;
    if (signal.aborted) return;
    settle();
    sound = soundCard(id, story, whole);
    const personal = summary.transcript || summary.audio;
    replace(body,
      aboutSession(told),
      sound.card,
      h("div", { class: "columns" },
        h("section", { class: "card", "aria-labelledby": "said-title" },
          h("h2", { id: "said-title" }, t("sessions.said.title")), sound.words),
        h("div", { class: "stack side" },
          sound.voice,
          ratingsOf({ id, ratings: told.ratings, turns: story.turns, allowWords: personal }),
          scoresOf(id, signal),
          personal ? notesEditor(id, told.notes) : null,
          filesOf(session),
          deletion({ id, summary }, gone))));
    if (session.state === "recording") timer = setTimeout(again, AGAIN);
  }

  /** A session that goes on is looked at again, but not while somebody writes about it. */
  function again() {
    const writing = body.contains(document.activeElement?.closest("input, textarea, select, details[open]") ?? null);
    if (document.hidden || writing) timer = setTimeout(again, AGAIN);
    else load();
  }

  async function outline() {
    try {
      return await requests.waveform(id, 0, null, POINTS, signal);
    } catch (error) {
      if (error.code === "no_audio") return null; // it went meanwhile
      throw error;
    }
  }

  function gone() {
    load();
    window.scrollTo(0, 0);
  }

  function settle() {
    clearTimeout(timer);
    sound?.close();
    sound = null;
  }

  load();
  return {
    close() {
      ending.abort();
      settle();
    },
  };
}

function listAddress() {
  return toAddress(fromAddress(location.search), location.search) || location.pathname;
}

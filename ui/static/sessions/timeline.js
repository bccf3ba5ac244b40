/** The timeline of a recorded session: both sides' sound on one clock, to look into and to play. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { gestures } from "./gestures.js";
import { draw, turnAt } from "./lanes.js";
import { loudest } from "./outline.js";
import { overview } from "./overview.js";
import { around, clock, moved, scale, showing, zoomed } from "./scale.js";

const SETTLED = 140; // ms without a change before finer detail is asked for
const MARGIN = 0.5; // of the view, asked for on both sides of it
const LOUD = 0.9; // of a lane, that its loudest sample fills
const MOST_GAIN = 24; // or noise would look like speech

/**
 * @param {{story: any, player: any, whole: any | null,
 *   outline: (start: number, end: number, points: number, signal: AbortSignal) => Promise<any>,
 *   picture: (channel: string, start: number, end: number, width: number, signal: AbortSignal) => Promise<ImageBitmap>,
 *   onTurn: (turn: any) => void, onLook: (view: import("./scale.js").View) => void,
 *   onProblem: (error: Error) => void}} given
 */
export function timeline({ story, player, whole, outline, picture, onTurn, onLook, onProblem }) {
  const total = Math.max(story.samples, whole?.end ?? 0, 1);
  const ending = new AbortController();
  const canvas = h("canvas", { class: "lanes", "aria-hidden": "true" });
  const paint = canvas.getContext("2d");
  const surface = h("div", {
    class: "surface", tabindex: "0", role: "slider", "aria-label": t("sessions.timeline.playhead"),
    "aria-valuemin": "0", "aria-valuemax": String(Math.round(total / story.rate)), "aria-keyshortcuts": "Space + -",
    title: t("sessions.timeline.hint"),
  }, canvas);
  const state = {
    story, view: { start: 0, end: total }, size: { width: 1, height: 1 }, outlines: whole ? [whole] : [],
    gains: whole ? whole.channels.map((each) => Math.min(LOUD / Math.max(loudest(each), 0.001), MOST_GAIN)) : [1, 1],
    pictures: [], playhead: 0, chosen: null, hovered: null, colours: {},
  };
  let spectral = false;
  let due = false;
  let asking = null;
  let settling = 0;

  const strip = overview({
    total, whole, story, signal: ending.signal,
    onMove: (start) => look(moved(state.view, start - state.view.start, total)),
  });
  const labels = h("div", { class: "lane-names", "aria-hidden": "true" },
    h("span", { class: "of-user" }, t("sessions.person")), h("span", { class: "of-reply" }, t("sessions.reply")));
  const element = h("div", { class: "timeline" }, h("div", { class: "surface-frame" }, surface, labels));

  function refresh() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (ending.signal.aborted) return;
      state.playhead = player.position();
      if (player.playing) {
        const view = showing(state.view, state.playhead, total);
        if (view !== state.view) look(view); // the page is turned
        else refresh();
      }
      draw(paint, state);
      strip.draw(state);
      const seconds = Math.round(state.playhead / story.rate);
      if (surface.getAttribute("aria-valuenow") !== String(seconds)) {
        surface.setAttribute("aria-valuenow", String(seconds));
        surface.setAttribute("aria-valuetext", clock(seconds));
      }
    });
  }

  function look(view) {
    state.view = view;
    refresh();
    clearTimeout(settling);
    settling = setTimeout(detail, SETTLED);
  }

  /** Ask for what is looked at, with some around it, as finely as it can be shown. */
  async function detail() {
    if (ending.signal.aborted) return;
    onLook(state.view);
    if (!whole) return;
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const length = state.view.end - state.view.start;
    const start = Math.floor(Math.max(state.view.start - length * MARGIN, 0));
    const end = Math.ceil(Math.min(state.view.end + length * MARGIN, whole.end));
    const wide = Math.min(Math.round((state.size.width * (end - start)) / length), 4096);
    if (end <= start) return;
    try {
      if (spectral) {
        const images = await Promise.all(["user", "reply"].map((each) => picture(each, start, end, wide, signal)));
        if (signal.aborted) return;
        state.pictures = [{ start, end, images }];
      } else {
        const finer = await outline(start, end, wide, signal);
        if (signal.aborted) return;
        state.outlines = [whole, finer];
      }
      refresh();
    } catch (error) {
      if (error.name !== "AbortError") onProblem(error);
    }
  }

  function fit() {
    const box = surface.getBoundingClientRect();
    if (!box.width) return;
    const density = Math.min(window.devicePixelRatio || 1, 2);
    state.size = { width: box.width, height: box.height };
    canvas.width = Math.round(box.width * density);
    canvas.height = Math.round(box.height * density);
    paint.setTransform(density, 0, 0, density, 0, 0);
    state.colours = colours(element);
    strip.fit();
    look(state.view);
  }

  const position = (x) => (x === null ? middle() : scale(state.view, state.size.width).at(x));
  const middle = () => {
    const inside = state.playhead >= state.view.start && state.playhead <= state.view.end;
    return inside ? state.playhead : (state.view.start + state.view.end) / 2;
  };
  const zoom = (factor, x = null) => look(zoomed(state.view, factor, position(x), total, story.rate));
  const seek = (to) => {
    player.seek(to);
    look(showing(state.view, player.position(), total));
  };
  gestures(surface, {
    zoom,
    move: (pixels) => look(moved(state.view, pixels * scale(state.view, state.size.width).ratio, total)),
    tap: (x, y) => {
      const turn = turnAt(story, state.view, state.size, x, y);
      if (turn) onTurn(turn);
      else seek(position(x));
    },
    hover: (x, y) => {
      const turn = x === null ? null : turnAt(story, state.view, state.size, x, y);
      if ((turn?.item_id ?? null) === state.hovered) return;
      state.hovered = turn?.item_id ?? null;
      surface.style.cursor = turn ? "pointer" : "";
      refresh();
    },
    step: (seconds) => seek(player.position() + seconds * story.rate),
    leap: (end) => seek(end ? total : 0),
    toggle: () => (player.playing ? player.stop() : player.play({ from: player.position() >= total ? 0 : player.position() })),
    fit: () => look({ start: 0, end: total }),
  }, ending.signal);
  const watcher = new ResizeObserver(fit);
  watcher.observe(surface);

  return {
    element,
    overview: strip.element,
    refresh,
    zoom,
    whole: () => look({ start: 0, end: total }),
    /** Mark a turn, and bring it into view. */
    choose(turn) {
      state.chosen = turn?.item_id ?? null;
      const visible = turn && turn.start >= state.view.start && turn.end <= state.view.end;
      if (turn && !visible) look(around(turn.start, turn.end, total, story.rate));
      refresh();
    },
    /** @param {boolean} on pitches instead of outlines */
    spectrogram(on) {
      spectral = on;
      state.pictures = [];
      look(state.view);
    },
    close() {
      ending.abort();
      asking?.abort();
      watcher.disconnect();
      clearTimeout(settling);
    },
  };
}

function colours(element) {
  const style = getComputedStyle(element);
  const names = { ink: "ink", faint: "ink-faint", line: "line", sunk: "sunk", user: "user", warm: "warm" };
  const found = Object.fromEntries(Object.entries(names).map(([name, token]) => [name, style.getPropertyValue(`--${token}`)]));
  return { ...found, reply: style.getPropertyValue("--accent"), accent: style.getPropertyValue("--accent") };
}

/** A card with one answer: its outline, a button to play it, and whether it was heard. */

import { h, replace, svg } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { icon } from "./icons.js";
import { peaks } from "./peaks.js";

const BARS = 44;
const HEIGHT = 64;
const ENOUGH = 0.9; // of an answer, and it counts as heard

/**
 * @param {{side: "a"|"b", wav: ArrayBuffer, seconds: number, onPlay: () => void, onHeard: () => void}} given
 * @returns {{element: HTMLElement, foot: HTMLElement, play: () => void, pause: () => void, heard: () => boolean, close: () => void}}
 */
export function answerCard({ side, wav, seconds, onPlay, onHeard }) {
  const letter = side.toUpperCase();
  const url = URL.createObjectURL(new Blob([wav], { type: "audio/wav" }));
  const audio = new Audio(url);
  audio.preload = "auto";
  const bars = outline(wav);
  let heard = false;
  const state = h("span", { class: "chip compare-heard" }, t("compare.listen.unheard"));
  const sign = h("span", { class: "compare-play-sign" }, icon("play"));
  const button = h("button", { class: "compare-play", type: "button", on: { click: () => (audio.paused ? play() : pause()) } }, sign);
  const problem = h("p", { class: "complaint small", role: "alert" });
  const foot = h("div", { class: "compare-foot" });
  const element = h("article", { class: "card compare-answer", dataset: { side }, "aria-label": t("compare.listen.answer", { side: letter }) },
    h("header", {},
      h("h3", {}, h("span", { class: "compare-letter", "aria-hidden": "true" }, letter),
        h("span", { class: "sr-only" }, t("compare.listen.answer", { side: letter }))),
      state),
    h("div", { class: "compare-player" }, button, bars.element,
      h("span", { class: "muted small numeric" }, t("compare.ask.seconds", { seconds: number(seconds, { maximumFractionDigits: 1, minimumFractionDigits: 1 }) }))),
    problem, foot);

  let frame = 0;
  const show = () => {
    const playing = !audio.paused && !audio.ended;
    element.classList.toggle("playing", playing);
    replace(sign, icon(playing ? "pause" : "play"));
    button.setAttribute("aria-label", t(`compare.listen.${playing ? "pause" : "play"}`, { side: letter }));
    bars.show(audio.ended ? 1 : audio.currentTime / (audio.duration || seconds));
    cancelAnimationFrame(frame);
    if (playing) frame = requestAnimationFrame(follow);
  };
  const follow = () => {
    const share = audio.currentTime / (audio.duration || seconds);
    bars.show(share);
    if (share >= ENOUGH) note();
    if (!audio.paused) frame = requestAnimationFrame(follow);
  };
  const note = () => {
    if (heard) return;
    heard = true;
    element.classList.add("heard");
    replace(state, icon("check"), t("compare.listen.heard"));
    onHeard();
  };
  const play = async () => {
    onPlay();
    replace(problem);
    if (audio.ended) audio.currentTime = 0;
    try {
      await audio.play();
    } catch (error) {
      if (error.name !== "AbortError") replace(problem, t("compare.listen.failed"));
    }
  };
  const pause = () => audio.pause();
  for (const kind of ["play", "pause", "ended"]) audio.addEventListener(kind, show);
  audio.addEventListener("ended", note);
  show();
  const close = () => {
    cancelAnimationFrame(frame);
    audio.pause();
    audio.removeAttribute("src");
    URL.revokeObjectURL(url);
  };
  return { element, foot, play, pause, heard: () => heard, close };
}

function outline(wav) {
  const rects = peaks(wav, BARS).map((peak, bar) => {
    const height = 3 + peak * (HEIGHT - 6);
    return svg("rect", { x: bar * 5, y: (HEIGHT - height) / 2, width: 3, height, rx: 1.5 });
  });
  const element = svg("svg",
    { class: "compare-outline", viewBox: `0 0 ${BARS * 5 - 2} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, rects);
  const show = (share) => {
    rects.forEach((rect, bar) => rect.classList.toggle("past", bar < share * BARS));
  };
  return { element, show };
}

/** A session's sound to look into and to play, with its words and its voice in step. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { player } from "./player.js";
import * as requests from "./requests.js";
import { clock } from "./scale.js";
import { timeline } from "./timeline.js";
import { transcript } from "./transcript.js";
import { voiceLanes, voicePanel } from "./voice.js";

/**
 * @param {string} id
 * @param {any} story
 * @param {any | null} whole the outline of all of it; null where there is no sound
 */
export function soundCard(id, story, whole) {
  const total = whole?.end ?? story.samples;
  const problem = h("p", { class: "complaint", role: "alert", hidden: true });
  const look = document.body.classList.contains("dark") ? "dark" : "light";
  let frame = 0;

  const onProblem = (error) => {
    problem.hidden = false;
    replace(problem, error.message);
  };
  const machine = player({
    load: (start, end, channel, stop) => requests.clip(id, start, end, channel, stop),
    rate: story.rate, total, onChange: changed, onProblem,
  });
  const lanes = voiceLanes(story);
  const panel = voicePanel(story);
  const line = timeline({
    story, player: machine, whole, onTurn: choose, onProblem, onLook: lanes.show,
    outline: (start, end, points, stop) => requests.waveform(id, start, end, points, stop),
    picture: (channel, start, end, width, stop) => requests.spectrogram(id, channel, start, end, width, look, stop),
  });
  const words = transcript(story, { audible: Boolean(whole), choose, from: onward });
  const button = h("button", { type: "button", class: "button primary play", on: { click: toggle } });
  const where = h("output", { class: "where mono" });

  function choose(turn) {
    line.choose(turn);
    words.choose(turn);
    panel.choose(turn);
    if (!whole || turn.end <= turn.start) return;
    machine.play({ from: turn.start, to: turn.end, channel: turn.role === "user" ? "user" : "reply" });
  }

  function onward(turn) {
    line.choose(turn);
    words.choose(turn);
    machine.play({ from: turn.start });
  }

  function toggle() {
    if (machine.playing) machine.stop();
    else machine.play({ from: machine.position() >= total ? 0 : machine.position() });
  }

  function changed() {
    button.textContent = t(machine.playing ? "sessions.pause" : "sessions.play");
    line.refresh();
    cancelAnimationFrame(frame);
    follow();
  }

  function follow() {
    const position = machine.position();
    where.textContent = `${clock(position / story.rate, 1)} / ${clock(total / story.rate)}`;
    words.follow(position, machine.channel);
    if (!machine.playing) return;
    panel.follow(position);
    frame = requestAnimationFrame(follow);
  }

  const pitches = h("input", { type: "checkbox", on: { change: () => line.spectrogram(pitches.checked) } });
  const step = (name, sign, press) =>
    h("button", { type: "button", class: "button icon", "aria-label": t(`sessions.zoom.${name}`), title: t(`sessions.zoom.${name}`), on: { click: press } }, sign);
  const none = () => h("p", { class: "muted" }, t(story.state === "recording" ? "sessions.sound.later" : "sessions.sound.none"));
  const card = h("section", { class: "card sound", "aria-label": t("sessions.timeline.title") },
    h("div", { class: "row tools" },
      whole ? [button, where] : none(),
      h("span", { class: "push" }),
      whole ? h("label", { class: "switch pitches" }, pitches, h("span", {}, t("sessions.spectrogram"))) : null,
      h("span", { class: "zoom", role: "group", "aria-label": t("sessions.zoom.title") },
        step("out", "−", () => line.zoom(2)), step("in", "+", () => line.zoom(0.5)),
        h("button", { type: "button", class: "button", on: { click: () => line.whole() } }, t("sessions.zoom.all")))),
    problem, h("div", { class: "aligned" }, line.element, lanes.element, line.overview));
  changed();

  return {
    card,
    words: words.element,
    voice: panel.element,
    close() {
      cancelAnimationFrame(frame);
      line.close();
      machine.close();
    },
  };
}

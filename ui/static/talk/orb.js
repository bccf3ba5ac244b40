/** The one large round button: it shows who is heard, and how loudly. */

import { h, stylesheet } from "../core/dom.js";
import { icon } from "./icons.js";
import { angles, follow, manner, reach } from "./orb_shape.js";
import { voiceOf } from "./phase.js";

stylesheet(import.meta.url, "./orb.css");

const LAYERS = 3;
const PARTS = 56;
const REST = 0.29; // the core's radius, in parts of the canvas
const SLOW = 30; // ms
const SHARP = 2; // more pixels than these nobody sees

const ICONS = {
  idle: "mic", connecting: "dots", listening: "mic", hearing: "wave", thinking: "dots",
  speaking: "speaker", interrupted: "mic", reconnecting: "dots", muted: "muted", waiting: "hand",
  ready: "play", writing: "pen", played: "wave", ended: "mic",
};

/**
 * @param {{label?: string}} options `label`: words inside the button, in place of a sign
 * @returns {{element: HTMLButtonElement, show: (look: {phase: string, label: string,
 *   idle: boolean}) => void, level: (heard: {input: number, output: number}) => void,
 *   close: () => void}}
 */
export function orb({ label = "" } = {}) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const face = h("span", { class: "orb-face", "aria-hidden": "true" });
  const element = h("button", { class: "orb", type: "button" }, canvas, face);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const levels = { input: 0, output: 0 };
  let phase = "";
  let seen = 0;
  let before = 0;
  let frame = 0;

  const draw = (now) => {
    frame = requestAnimationFrame(draw);
    if (!voiceOf(phase) && now - before < SLOW) return; // nobody is heard: half as often will do
    const seconds = Math.min(0.1, (now - before) / 1000);
    before = now;
    const voice = voiceOf(phase);
    seen = follow(seen, voice ? levels[voice] : 0, seconds);
    paint(canvas, { time: now / 1000, level: seen, phase, moving: !calm.matches });
  };
  frame = requestAnimationFrame(draw);

  const show = (look) => {
    element.setAttribute("aria-label", look.label);
    element.classList.toggle("orb-inert", look.idle);
    if (look.phase === phase) return;
    phase = look.phase;
    element.dataset.phase = phase;
    face.replaceChildren(label && phase === "idle" ? h("b", {}, label) : icon(ICONS[phase] ?? "mic"));
  };
  return {
    element,
    show,
    level: (heard) => Object.assign(levels, heard),
    close: () => cancelAnimationFrame(frame),
  };
}

function paint(canvas, { time, level, phase, moving }) {
  const size = canvas.clientWidth * Math.min(SHARP, devicePixelRatio || 1);
  if (!size) return;
  if (Math.abs(canvas.width - size) > 1) canvas.width = canvas.height = Math.round(size);
  const pen = canvas.getContext("2d");
  const tokens = getComputedStyle(canvas);
  const colour = tokens.getPropertyValue("--orb-colour").trim() || "#0b6e63";
  const middle = canvas.width / 2;
  const radius = canvas.width * REST;
  const how = manner(phase);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = colour;
  for (let layer = LAYERS; layer > 0; layer -= 1) {
    pen.globalAlpha = 0.1 + 0.045 * (LAYERS - layer);
    blob(pen, middle, (angle) => radius * reach({ angle, time, layer, level, manner: how, moving }));
  }
  pen.globalAlpha = 1;
  pen.beginPath();
  pen.arc(middle, middle, radius, 0, Math.PI * 2);
  pen.fillStyle = sheen(pen, middle, radius, colour, tokens.getPropertyValue("--orb-deep").trim());
  pen.fill();
  if (phase === "thinking" || phase === "connecting" || phase === "reconnecting") {
    sweep(pen, middle, radius * 1.16, moving ? time * 2.4 : 0, colour);
  }
}

function blob(pen, middle, radiusAt) {
  pen.beginPath();
  for (const angle of angles(PARTS)) {
    const far = radiusAt(angle);
    pen.lineTo(middle + Math.cos(angle) * far, middle + Math.sin(angle) * far);
  }
  pen.closePath();
  pen.fill();
}

function sheen(pen, middle, radius, colour, deep) {
  const light = pen.createRadialGradient(
    middle - radius * 0.35, middle - radius * 0.45, radius * 0.1, middle, middle, radius * 1.05,
  );
  light.addColorStop(0, colour);
  light.addColorStop(1, deep || colour);
  return light;
}

function sweep(pen, middle, radius, turn, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = Math.max(2, radius * 0.028);
  pen.lineCap = "round";
  for (const [start, alpha] of [[0, 0.85], [Math.PI, 0.35]]) {
    pen.globalAlpha = alpha;
    pen.beginPath();
    pen.arc(middle, middle, radius, turn + start, turn + start + 1.1);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

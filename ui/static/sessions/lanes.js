/** Draws a stretch of a conversation: ruler, both sides' sound, turns and the playhead. */

import { columns } from "./outline.js";
import { scale, ticks } from "./scale.js";

export const RULER = 26; // pixels
const GAP = 8;
const PAD = 6;

/** Where the lanes lie in a canvas of that height. */
export function lanes(height) {
  const tall = (height - RULER - GAP) / 2;
  return [
    { role: "user", top: RULER, height: tall },
    { role: "assistant", top: RULER + tall + GAP, height: tall },
  ];
}

/** The turn that is drawn at a point, if any. */
export function turnAt(story, view, size, x, y) {
  const lane = lanes(size.height).find(({ top, height }) => y >= top && y < top + height);
  if (!lane) return null;
  const position = scale(view, size.width).at(x);
  const inside = (turn) => turn.role === lane.role && position >= turn.start && position <= turn.end;
  return story.turns.find(inside) ?? null;
}

/**
 * @param {CanvasRenderingContext2D} paint
 * @param {{story: any, view: import("./scale.js").View, size: {width: number, height: number},
 *   outlines: any[], gains: number[], pictures: any[], playhead: number, chosen: string | null,
 *   hovered: string | null, colours: Record<string, string>}} seen
 */
export function draw(paint, seen) {
  const { story, view, size, colours } = seen;
  const at = scale(view, size.width);
  paint.clearRect(0, 0, size.width, size.height);
  ruler(paint, seen, at);
  lanes(size.height).forEach((lane, channel) => {
    paint.save();
    paint.beginPath();
    paint.roundRect(0, lane.top, size.width, lane.height, 8);
    paint.clip();
    paint.fillStyle = colours.sunk;
    paint.fillRect(0, lane.top, size.width, lane.height);
    unkept(paint, seen, at, lane);
    if (seen.pictures.length) pictures(paint, seen, at, lane, channel);
    for (const turn of story.turns) if (turn.role === lane.role) span(paint, seen, at, lane, turn);
    if (!seen.pictures.length) sound(paint, seen, at, lane, channel);
    paint.restore();
  });
  playhead(paint, seen, at);
}

function ruler(paint, { view, size, story, colours }, at) {
  paint.font = "12px system-ui, sans-serif";
  paint.textBaseline = "middle";
  for (const { at: position, label } of ticks(view, size.width, story.rate)) {
    const x = Math.round(at.x(position)) + 0.5;
    paint.fillStyle = colours.line;
    paint.fillRect(x - 0.5, RULER - 6, 1, size.height);
    paint.fillStyle = colours.faint;
    const wide = paint.measureText(label).width;
    if (x + wide / 2 > size.width) continue;
    paint.fillText(label, Math.max(x - wide / 2, 0), RULER / 2 - 2);
  }
}

/** Before there was consent, and where nothing came from the microphone. */
function unkept(paint, { story, colours }, at, lane) {
  const empty = story.recorded_from ? [[0, story.recorded_from]] : [];
  if (lane.role === "user") empty.push(...story.gaps);
  paint.strokeStyle = colours.line;
  paint.lineWidth = 1;
  for (const [start, end] of empty) {
    paint.save();
    paint.beginPath();
    paint.rect(at.x(start), lane.top, at.x(end) - at.x(start), lane.height);
    paint.clip();
    paint.beginPath();
    const [left, right] = [Math.max(at.x(start), 0), Math.min(at.x(end), paint.canvas.width)];
    for (let x = left - lane.height; x < right; x += 9) {
      paint.moveTo(x, lane.top + lane.height);
      paint.lineTo(x + lane.height, lane.top);
    }
    paint.stroke();
    paint.restore();
  }
}

function span(paint, { colours, chosen, hovered, pictures: shown }, at, lane, turn) {
  const colour = turn.role === "user" ? colours.user : colours.reply;
  const [left, right] = [at.x(turn.start), Math.max(at.x(turn.end), at.x(turn.start) + 2)];
  const marked = turn.item_id === chosen;
  paint.globalAlpha = shown.length ? 0 : marked ? 0.26 : turn.item_id === hovered ? 0.2 : 0.12;
  paint.fillStyle = colour;
  paint.beginPath();
  paint.roundRect(left, lane.top + 1, right - left, lane.height - 2, 6);
  paint.fill();
  paint.globalAlpha = 1;
  paint.lineWidth = marked ? 2 : 1;
  paint.strokeStyle = colour;
  paint.globalAlpha = marked ? 1 : 0.45;
  paint.stroke();
  paint.globalAlpha = 1;
  if (turn.interrupted) cut(paint, colours.warm, right, lane);
}

/** A jagged end: this reply was cut off. */
function cut(paint, colour, x, lane) {
  paint.strokeStyle = colour;
  paint.lineWidth = 2;
  paint.beginPath();
  for (let y = lane.top, n = 0; y <= lane.top + lane.height; y += 6, n += 1) paint.lineTo(x - (n % 2 ? 4 : 0), y);
  paint.stroke();
}

function sound(paint, { outlines, gains, size, colours }, at, lane, channel) {
  const middle = lane.top + lane.height / 2;
  const tall = (lane.height / 2 - PAD) * gains[channel];
  paint.fillStyle = channel ? colours.reply : colours.user;
  const drawn = outlines.at(-1); // the finest; what it does not cover comes from the coarse one
  for (const each of outlines) {
    for (const { x, low, high } of columns(each, each.channels[channel], at, size.width)) {
      const covered = each !== drawn && at.at(x) >= drawn.start && at.at(x + 1) <= drawn.end;
      if (covered) continue;
      const top = middle - high * tall;
      paint.fillRect(x, top, 1, Math.max((high - low) * tall, 1));
    }
  }
}

function pictures(paint, { pictures: shown }, at, lane, channel) {
  paint.imageSmoothingEnabled = true;
  for (const { start, end, images } of shown) {
    const [left, right] = [at.x(start), at.x(end)];
    paint.drawImage(images[channel], left, lane.top, right - left, lane.height);
  }
}

function playhead(paint, { size, colours, playhead: position, view }, at) {
  if (position < view.start || position > view.end) return;
  const x = Math.min(Math.max(at.x(position), 1), size.width - 1);
  paint.fillStyle = colours.ink;
  paint.fillRect(x - 0.75, RULER - 8, 1.5, size.height - RULER + 8);
  paint.beginPath();
  paint.moveTo(x - 6, RULER - 12);
  paint.lineTo(x + 6, RULER - 12);
  paint.lineTo(x, RULER - 3);
  paint.fill();
}

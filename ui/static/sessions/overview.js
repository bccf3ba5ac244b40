/** The whole session in a strip, with a window over what is being looked at. */

import { h } from "../core/dom.js";
import { columns } from "./outline.js";
import { scale } from "./scale.js";

/**
 * @param {{total: number, whole: any | null, story: any, signal: AbortSignal, onMove: (start: number) => void}} given
 */
export function overview({ total, whole, story, signal, onMove }) {
  const canvas = h("canvas", { class: "overview", "aria-hidden": "true" });
  const paint = canvas.getContext("2d");
  const size = { width: 1, height: 1 };
  let view = { start: 0, end: total };
  let grip = null;

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    const at = (event.offsetX / size.width) * total;
    const inside = at >= view.start && at <= view.end;
    grip = inside ? at - view.start : (view.end - view.start) / 2;
    onMove(at - grip);
  }, { signal });
  canvas.addEventListener("pointermove", (event) => {
    if (grip !== null) onMove((event.offsetX / size.width) * total - grip);
  }, { signal });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => { grip = null; }, { signal });
  }

  return {
    element: canvas,
    fit() {
      const box = canvas.getBoundingClientRect();
      const density = Math.min(window.devicePixelRatio || 1, 2);
      Object.assign(size, { width: box.width, height: box.height });
      canvas.width = Math.round(box.width * density);
      canvas.height = Math.round(box.height * density);
      paint.setTransform(density, 0, 0, density, 0, 0);
    },
    draw(seen) {
      view = seen.view;
      const { colours } = seen;
      const at = scale({ start: 0, end: total }, size.width);
      const middle = size.height / 2;
      paint.clearRect(0, 0, size.width, size.height);
      for (const turn of story.turns) {
        const is = turn.role === "user";
        paint.fillStyle = is ? colours.user : colours.reply;
        paint.globalAlpha = whole ? 0.16 : 0.6;
        const wide = Math.max(at.x(turn.end) - at.x(turn.start), 1);
        paint.fillRect(at.x(turn.start), is ? 0 : middle, wide, middle);
      }
      paint.globalAlpha = 0.8;
      (whole?.channels ?? []).forEach((channel, n) => {
        const tall = (middle - 3) * seen.gains[n];
        const base = n ? size.height - 2 : middle - 1;
        paint.fillStyle = n ? colours.reply : colours.user;
        for (const { x, low, high } of columns(whole, channel, at, size.width)) {
          const up = Math.max(high, -low) * tall;
          paint.fillRect(x, base - up, 1, Math.max(up, 0.5));
        }
      });
      paint.globalAlpha = 1;
      const [left, right] = [at.x(view.start), at.x(view.end)];
      paint.fillStyle = colours.ink;
      paint.fillRect(at.x(seen.playhead) - 0.5, 0, 1, size.height);
      if (right - left > size.width - 2) return;
      paint.globalAlpha = 0.1;
      paint.fillRect(left, 0, right - left, size.height);
      paint.globalAlpha = 1;
      paint.strokeStyle = colours.ink;
      paint.lineWidth = 1.5;
      paint.beginPath();
      paint.roundRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 4), size.height - 1.5, 5);
      paint.stroke();
    },
  };
}

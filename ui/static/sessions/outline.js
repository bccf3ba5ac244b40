/** The outline of a recording as the server sends it, and as it is drawn. */

/**
 * @param {{start: number, end: number, points: number, user: string, reply: string}} told
 * @returns {{start: number, end: number, points: number, channels: Int16Array[]}}
 */
export function outline(told) {
  const { start, end, points } = told;
  return { start, end, points, channels: [numbers(told.user), numbers(told.reply)] };
}

/** The loudest of a channel, between 0 and 1. */
export function loudest(channel) {
  let most = 0;
  for (const each of channel) most = Math.max(most, Math.abs(each));
  return most / 32768;
}

/**
 * For every pixel of a view the lowest and highest sample, between -1 and 1; beyond what the outline
 * covers there is nothing.
 * @returns {{x: number, low: number, high: number}[]}
 */
export function columns({ start, end, points }, channel, { x, at }, width) {
  const step = (end - start) / points;
  const found = [];
  const first = Math.max(0, Math.floor(x(start)));
  const last = Math.min(width, Math.ceil(x(end)));
  for (let pixel = first; pixel < last; pixel += 1) {
    const from = Math.max(0, Math.floor((at(pixel) - start) / step));
    const to = Math.min(points, Math.max(from + 1, Math.ceil((at(pixel + 1) - start) / step)));
    if (from >= to) continue;
    let [low, high] = [32767, -32768];
    for (let point = from; point < to; point += 1) {
      low = Math.min(low, channel[2 * point]);
      high = Math.max(high, channel[2 * point + 1]);
    }
    found.push({ x: pixel, low: low / 32768, high: high / 32768 });
  }
  return found;
}

function numbers(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Int16Array.from({ length: bytes.length / 2 }, (_, n) => view.getInt16(2 * n, true));
}

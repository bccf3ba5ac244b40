/** The outline of a sound. Pure. */

const HEADER = 44; // bytes of a plain WAV file before its samples

/**
 * @param {ArrayBuffer} wav mono, 16 bits
 * @param {number} count of bars
 * @returns {number[]} from 0 to 1, the loudest being 1
 */
export function peaks(wav, count) {
  const samples = new Int16Array(wav, HEADER, Math.max(0, (wav.byteLength - HEADER) >> 1));
  const found = Array.from({ length: count }, (_, bar) => {
    const begin = Math.floor((bar * samples.length) / count);
    const end = Math.max(begin + 1, Math.floor(((bar + 1) * samples.length) / count));
    let power = 0;
    for (let at = begin; at < Math.min(end, samples.length); at++) power += samples[at] ** 2;
    return Math.sqrt(power / (end - begin));
  });
  const top = Math.max(...found, 1);
  return found.map((each) => each / top);
}

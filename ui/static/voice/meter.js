/** How loud it is, from 0 (a quiet room) to 1 (as loud as speech gets). Pure. */

const QUIET_DB = -55;
const LOUD_DB = -12;

export class Meter {
  #energy = 0;
  #count = 0;

  /** @param {Float32Array} block */
  add(block) {
    for (const sample of block) this.#energy += sample * sample;
    this.#count += block.length;
  }

  /** @returns {number} the level since it was last read */
  read() {
    const level = loudness(this.#count ? this.#energy / this.#count : 0);
    this.#energy = 0;
    this.#count = 0;
    return level;
  }
}

/** @param {number} power mean square @returns {number} 0 to 1 */
export function loudness(power) {
  if (power <= 0) return 0;
  const level = (10 * Math.log10(power) - QUIET_DB) / (LOUD_DB - QUIET_DB);
  return Math.max(0, Math.min(1, level));
}

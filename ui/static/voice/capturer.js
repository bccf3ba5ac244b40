/** What a microphone gives, cut into frames for the wire. Pure. */

import { FRAME, WIRE_RATE } from "./rates.js";
import { Resampler } from "./resampler.js";

export class Capturer {
  captured = 0; // samples at the wire's rate, in frames given so far
  #resampler;
  #frame = new Int16Array(FRAME);
  #filled = 0;
  #give;

  /**
   * @param {number} rate of the microphone
   * @param {(frame: Int16Array, captured: number) => void} give the frame is the receiver's
   */
  constructor(rate, give) {
    this.#resampler = new Resampler(rate, WIRE_RATE);
    this.#give = give;
  }

  /** @param {Float32Array} block */
  take(block) {
    for (const sample of this.#resampler.process(block)) {
      this.#frame[this.#filled] = Math.max(-32768, Math.min(32767, Math.round(sample * 32768)));
      this.#filled += 1;
      if (this.#filled === FRAME) this.#complete();
    }
  }

  #complete() {
    this.captured += FRAME;
    this.#give(this.#frame, this.captured);
    this.#frame = new Int16Array(FRAME);
    this.#filled = 0;
  }
}

/** The sound of one reply, from its arrival until it was played. Pure. */

import { Resampler } from "./resampler.js";
import { WIRE_RATE } from "./rates.js";

const LONGEST_GAP = 2 * WIRE_RATE; // a longer hole in a reply is passed over

export class Reply {
  complete = false; // nothing more will come
  held = false;
  stopping = false; // to be silent for good
  flushed = false;
  begun = false; // it has sounded
  flowing = false; // it sounds now
  waitsSince = null; // frame at which there was something to play, or again
  driedAt = null; // frame at which it had nothing more
  #rate;
  #resampler;
  #pieces = [];
  #at = 0; // in the first piece
  #waiting = 0;
  #played = 0;
  #first = null; // offset of the first sample we were given
  #received = null; // offset behind the last one
  #total = null;

  /** @param {number} sequence @param {number} rate of the loudspeaker */
  constructor(sequence, rate) {
    this.sequence = sequence;
    this.#rate = rate;
    this.#resampler = new Resampler(WIRE_RATE, rate);
  }

  /** Loudspeaker samples in hand. */
  get waiting() {
    return this.#waiting;
  }

  /** Samples of the reply, at the wire's rate, that have been played. */
  get played() {
    if (this.#first === null) return 0;
    if (this.complete && !this.flushed && this.#waiting === 0) return this.#received;
    const played = this.#first + Math.round((this.#played * WIRE_RATE) / this.#rate);
    return Math.min(played, this.#received);
  }

  /**
   * @param {number} offset of the first sample in the reply
   * @param {Int16Array} pcm
   * @returns {boolean} whether there was anything new in it
   */
  add(offset, pcm) {
    this.#first ??= offset;
    this.#received ??= offset;
    const missing = offset - this.#received;
    const fresh = missing < 0 ? pcm.subarray(-missing) : pcm;
    if (fresh.length === 0 || this.flushed || this.complete) return false;
    if (missing > 0) this.#pass(missing);
    this.#take(Float32Array.from(fresh, (sample) => sample / 32768));
    this.#received += fresh.length;
    if (this.#total !== null) this.finish(this.#total);
    return true;
  }

  /** @param {number} total samples it has; it is complete once they are there */
  finish(total) {
    this.#total = total;
    if (this.complete || (this.#received ?? 0) < total) return;
    this.complete = true;
    if (!this.flushed) this.#keep(this.#resampler.flush());
  }

  /** Forget what has not been played. */
  drop() {
    this.flushed = true;
    this.#pieces = [];
    this.#waiting = 0;
    this.#at = 0;
  }

  /** @returns {number} the next sample; only while some are waiting */
  next() {
    const piece = this.#pieces[0];
    const sample = piece[this.#at];
    this.#at += 1;
    this.#waiting -= 1;
    this.#played += 1;
    if (this.#at === piece.length) {
      this.#pieces.shift();
      this.#at = 0;
    }
    return sample;
  }

  /** What never came is silence, or, if it is too long for that, left out. */
  #pass(missing) {
    const silent = Math.min(missing, LONGEST_GAP);
    this.#take(new Float32Array(silent));
    this.#first += missing - silent;
    this.#received += missing;
  }

  #take(samples) {
    this.#keep(this.#resampler.process(samples).slice());
  }

  #keep(samples) {
    if (samples.length === 0) return;
    this.#pieces.push(samples);
    this.#waiting += samples.length;
  }
}

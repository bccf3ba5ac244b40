/** Listening until somebody has said what they wanted to. Pure: it is fed frames, and says when. */

const RATE = 24_000;
const QUIET_MS = 1500; // after speech, and it is over
const PATIENCE_MS = 8000; // without any speech
const LONGEST_MS = 58_000; // the server takes a minute
const ONSET = 3; // frames in a row: one alone is a click
const FAINTEST = 0.006; // of full scale; what is softer is no voice
const ABOVE = 3; // times the room's own noise

/** A person's turn, frame by frame. */
export class Take {
  /** @type {Int16Array[]} */
  #frames = [];
  #samples = 0;
  #voiced = 0; // frames in a row
  #lastVoice = 0; // samples
  #noise = Infinity;
  /** Whether anything was said so far. */
  spoken = false;

  /**
   * @param {Int16Array} frame at 24 kHz
   * @returns {"more"|"enough"|"nothing"}
   */
  push(frame) {
    this.#frames.push(frame.slice());
    this.#samples += frame.length;
    const level = loudness(frame);
    // The quietest so far, which may slowly rise: rooms change.
    this.#noise = Math.min(Math.max(level, 1e-4), this.#noise * 1.005);
    const voice = level > Math.max(FAINTEST, ABOVE * Math.min(this.#noise, 0.05));
    this.#voiced = voice ? this.#voiced + 1 : 0;
    if (this.#voiced >= ONSET) this.spoken = true;
    if (voice) this.#lastVoice = this.#samples;
    if (this.milliseconds >= LONGEST_MS) return this.spoken ? "enough" : "nothing";
    if (!this.spoken) return this.milliseconds >= PATIENCE_MS ? "nothing" : "more";
    return ((this.#samples - this.#lastVoice) * 1000) / RATE >= QUIET_MS ? "enough" : "more";
  }

  get milliseconds() {
    return (this.#samples * 1000) / RATE;
  }

  /** All of it, as the server takes it. @returns {Blob} */
  get speech() {
    return new Blob(this.#frames, { type: "audio/pcm" });
  }
}

/** From 0 to 1. @param {Int16Array} frame */
export function loudness(frame) {
  let power = 0;
  for (const sample of frame) power += sample * sample;
  return Math.sqrt(power / Math.max(1, frame.length)) / 32_768;
}

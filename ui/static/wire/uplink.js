/** The microphone's way to the server: all of it, or silence while nobody may be heard. */

const BYTES_PER_SEC = 48_000; // PCM16 at 24 kHz
const TOO_MUCH = BYTES_PER_SEC; // waiting to leave: rather a gap than a lag
const LITTLE = BYTES_PER_SEC / 4; // then it flows again

/**
 * Silence is sent while push-to-talk is not pressed: session time is samples received, so the
 * reply's place in it stays exact.
 */
export class Uplink {
  #link = null;
  #sent = 0; // samples, in this session
  #ahead = null; // samples captured, less those sent
  #gap = false;
  #awaited = null;

  /** Whether the microphone may be heard. */
  listens = true;

  /** @param {() => void} ongap called when sound begins to be dropped */
  constructor(ongap = () => {}) {
    this.ongap = ongap;
  }

  /** From now on it goes to this link, which counts from nothing. @param {Link|null} link */
  begin(link) {
    this.#link = link;
    this.#sent = 0;
    this.#ahead = null;
    this.#gap = false;
  }

  /** The same session goes on over this link; the server has so many samples. */
  resume(link, sent) {
    this.begin(link);
    this.#sent = sent;
  }

  /**
   * @param {Int16Array} samples
   * @param {number} captured samples so far, with these
   */
  frame(samples, captured) {
    const link = this.#link;
    if (!link?.open) return;
    if (this.#clogged(link)) return;
    link.sendAudio(this.listens ? samples : new Int16Array(samples.length));
    this.#sent += samples.length;
    this.#ahead = captured - this.#sent;
    this.#awaited?.();
  }

  /** A microphone position as the server counts it; null if it knows of none. */
  position(captured) {
    if (this.#ahead === null) return null;
    const position = captured - this.#ahead;
    return position < 0 ? null : Math.round(position);
  }

  /** Samples sent in this session. */
  get sent() {
    return this.#sent;
  }

  /**
   * Wait until so many samples more have gone, but no longer than that takes by the clock.
   *
   * @param {number} samples
   * @returns {Promise<void>}
   */
  passing(samples) {
    const goal = this.#sent + samples;
    return new Promise((resolve) => {
      const over = () => {
        clearTimeout(timer);
        this.#awaited = null;
        resolve();
      };
      const timer = setTimeout(over, samples / 12); // twice as long as it should take
      this.#awaited = () => this.#sent >= goal && over();
    });
  }

  #clogged(link) {
    if (!this.#gap && link.backlog > TOO_MUCH) {
      this.#gap = true;
      this.ongap();
    } else if (this.#gap && link.backlog < LITTLE) {
      this.#gap = false;
    }
    return this.#gap;
  }
}

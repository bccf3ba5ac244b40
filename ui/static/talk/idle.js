/** Notices that nobody is there any more, for a screen that stands somewhere by itself. */

export class Idle {
  #seconds;
  #warn;
  #timer = null;
  #last = 0;
  #told = null;

  /**
   * @param {{seconds: number, warn: number, onLeft: (seconds: number | null) => void,
   *   onGone: () => void}} watch `onLeft`: the seconds left, once they are few; null: never mind.
   */
  constructor({ seconds, warn, onLeft, onGone }) {
    this.#seconds = seconds;
    this.#warn = warn;
    this.onLeft = onLeft;
    this.onGone = onGone;
  }

  start() {
    this.stop();
    this.touch();
    this.#timer = setInterval(() => this.#look(), 250);
  }

  /** Somebody is there. */
  touch() {
    this.#last = performance.now();
    this.#tell(null);
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
    this.#tell(null);
  }

  #look() {
    const left = this.#seconds - (performance.now() - this.#last) / 1000;
    if (left <= 0) {
      this.stop();
      this.onGone();
      return;
    }
    this.#tell(left <= this.#warn ? Math.ceil(left) : null);
  }

  #tell(left) {
    if (left === this.#told) return;
    this.#told = left;
    this.onLeft(left);
  }
}

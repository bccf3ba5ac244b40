/** How much sound to have in hand before playing, learnt from how unevenly it arrives. Pure. */

const LEAST_SEC = 0.04;
const MOST_SEC = 0.25;
const FIRST_SEC = 0.06;
const MARGIN = 1.2; // of the worst delay seen lately
const FORGET_SEC = 20; // in which a delay that does not return counts for a third
const ON_TIME_SEC = 0.01;
const GIVEN_UP_SEC = 0.4; // a delay that lasts is no jitter: the sender itself was late

/** Times and offsets are seconds; the clock is the loudspeaker's. */
export class Jitter {
  #worst = FIRST_SEC / MARGIN;
  #worstAt = 0;
  #earliest = null; // arrival less offset, of a piece that came on time
  #late = 0; // the worst of the delay that is going on
  #lateSince = null;

  /** Another reply begins: it has a beginning of its own. */
  begin() {
    this.#earliest = null;
    this.#late = 0;
    this.#lateSince = null;
  }

  /**
   * @param {number} offset where the piece lies in its reply
   * @param {number} now when it arrived
   */
  arrived(offset, now) {
    const passage = now - offset;
    this.#earliest = this.#earliest === null ? passage : Math.min(this.#earliest, passage);
    const late = passage - this.#earliest;
    if (late <= ON_TIME_SEC) {
      if (this.#late > ON_TIME_SEC) this.#learn(this.#late, now);
      this.#late = 0;
      this.#lateSince = null;
      return;
    }
    this.#late = Math.max(this.#late, late);
    this.#lateSince ??= now;
    if (now - this.#lateSince > GIVEN_UP_SEC) {
      this.begin();
      this.#earliest = passage;
    }
  }

  /** The loudspeaker had to wait, and then more came. */
  ranDry(now) {
    this.#learn(Math.max(this.target(now) * 1.5, LEAST_SEC) / MARGIN, now);
  }

  /** @returns {number} seconds of sound to have in hand before it begins */
  target(now) {
    return Math.min(MOST_SEC, Math.max(LEAST_SEC, this.#remembered(now) * MARGIN));
  }

  #learn(delay, now) {
    this.#worst = Math.min(MOST_SEC / MARGIN, Math.max(this.#remembered(now), delay));
    this.#worstAt = now;
  }

  #remembered(now) {
    return this.#worst * Math.exp(-Math.max(0, now - this.#worstAt) / FORGET_SEC);
  }
}

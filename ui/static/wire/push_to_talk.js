/** Holding a button to be heard: what is sent while it is down is one turn. */

const SAMPLE_RATE = 24_000;
const SHORTEST = SAMPLE_RATE / 5; // a press that says less says nothing
const LONGEST = SAMPLE_RATE * 290; // the server ends a turn at 300 s, too
const TAIL = SAMPLE_RATE / 8; // still heard after a release: fingers are quicker than words
const KEPT = SAMPLE_RATE * 60; // of silence the server may be holding meanwhile

const CLEAR = { type: "input_audio_buffer.clear" };

export class PushToTalk {
  #uplink;
  #send;
  #happened;
  #on = false;
  #pressed = null; // samples sent when the button went down
  #tail = false; // the button is up, and the last words are on their way
  #cleared = 0; // samples sent when the server last let go of the silence

  /**
   * @param {import('./uplink.js').Uplink} uplink
   * @param {(event: object) => void} send
   * @param {(event: object) => void} happened for the story
   */
  constructor(uplink, send, happened) {
    this.#uplink = uplink;
    this.#send = send;
    this.#happened = happened;
  }

  /** @param {boolean} on whether one must press to be heard */
  begin(on) {
    this.#on = on;
    this.#pressed = null;
    this.#tail = false;
    this.#cleared = this.#uplink.sent;
    this.#uplink.listens = !on;
  }

  get pressed() {
    return this.#pressed !== null;
  }

  press() {
    if (!this.#on || this.pressed) return;
    if (!this.#tail) this.#clear();
    this.#pressed = this.#cleared;
    this.#uplink.listens = true;
    this.#happened({ type: "local.pressed" });
  }

  /** @returns {Promise<void>} once it has been sent */
  async release() {
    if (!this.pressed) return;
    const length = this.#uplink.sent - this.#pressed;
    this.#pressed = null;
    if (length < SHORTEST) {
      this.#uplink.listens = false;
      this.#happened({ type: "local.too_short" });
      return;
    }
    this.#happened({ type: "local.released" });
    this.#tail = true;
    await this.#uplink.passing(TAIL);
    if (this.pressed || !this.#tail) return; // pressed again: it all belongs together
    this.#tail = false;
    this.#uplink.listens = false;
    this.#send({ type: "input_audio_buffer.commit" });
    this.#send({ type: "response.create" });
    this.#cleared = this.#uplink.sent;
  }

  /** Time has passed. */
  tick() {
    if (!this.#on || this.#tail) return;
    const sent = this.#uplink.sent;
    if (!this.pressed && sent - this.#cleared > KEPT) this.#clear();
    else if (this.pressed && sent - this.#pressed > LONGEST) this.release();
  }

  #clear() {
    this.#send(CLEAR);
    this.#cleared = this.#uplink.sent;
  }
}

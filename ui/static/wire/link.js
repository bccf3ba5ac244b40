/** One socket to the server: events and sound, both ways, and whether anyone is still there. */

const OPENING_MS = 10_000; // until the first word of the server
const RECENT_MS = 1_000; // who spoke so lately is there
const SILENT = 4_000; // our own close code for a server that stopped answering

/**
 * How to come back to a conversation; known to nobody but this page, and to it only while it is open.
 *
 * @typedef {{token: string, after: string|null}} Ticket `after`: the last event that came
 */

/**
 * @typedef {object} Ears
 * @property {(event: object) => void} onevent
 * @property {(frame: ArrayBuffer) => void} onaudio
 * @property {(code: number) => void} onclose once, however it ends
 */
export class Link {
  #socket;
  #ears;
  #open = false;
  #over = false;
  #checking = 0;
  #opening = 0;
  #heardAt = -Infinity;

  /**
   * @param {string} url
   * @param {string[]} protocols
   * @param {Ears} ears
   * @param {Ticket|null} [ticket]
   */
  constructor(url, protocols, ears, ticket = null) {
    this.#ears = ears;
    const address = new URL(url, location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.searchParams.set("attune", "1");
    if (ticket?.after) address.searchParams.set("after", ticket.after);
    // Not in the address, which others may write down.
    const back = ticket ? ["realtime", `attune-resume.${ticket.token}`] : [];
    this.#socket = new WebSocket(address, [...new Set([...protocols, ...back])]);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onmessage = ({ data }) => this.#take(data);
    this.#socket.onclose = ({ code }) => this.#end(code);
    this.#opening = setTimeout(() => this.drop(), OPENING_MS);
    this.#socket.onopen = () => {
      this.#open = true;
    };
  }

  get open() {
    return this.#open && !this.#over;
  }

  /** Bytes that wait to leave. */
  get backlog() {
    return this.#socket.bufferedAmount;
  }

  /** @param {object} event */
  send(event) {
    if (this.open) this.#socket.send(JSON.stringify(event));
  }

  /** @param {Int16Array} samples */
  sendAudio(samples) {
    if (this.open) this.#socket.send(samples);
  }

  /** Ask a question anyone alive answers; give the connection up if nothing comes. */
  check(patience) {
    if (!this.open || this.#checking || performance.now() - this.#heardAt < RECENT_MS) return;
    this.send({ type: "session.update", session: { type: "realtime" } });
    this.#checking = setTimeout(() => this.drop(), patience);
  }

  /** The other side is as good as gone: do not wait for its farewell. */
  drop() {
    this.#socket.close(SILENT);
    this.#end(SILENT);
  }

  /** Hang up. @returns {Promise<void>} once the server knows, or after a second */
  close() {
    if (this.#over) return Promise.resolve();
    clearTimeout(this.#checking);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, 1_000);
      this.#ears = { ...this.#ears, onevent() {}, onaudio() {}, onclose() {} };
      this.#socket.addEventListener("close", () => {
        clearTimeout(timer);
        resolve();
      });
      this.#socket.close(1000);
    });
  }

  #take(data) {
    clearTimeout(this.#opening);
    clearTimeout(this.#checking);
    this.#checking = 0;
    this.#heardAt = performance.now();
    if (this.#over) return;
    if (data instanceof ArrayBuffer) this.#ears.onaudio(data);
    else this.#ears.onevent(JSON.parse(data));
  }

  #end(code) {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#opening);
    clearTimeout(this.#checking);
    this.#ears.onclose(code);
  }
}

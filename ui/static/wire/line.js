/** The way to the server: a link, and another one when it breaks. */

import { pause, waitBefore } from "./backoff.js";
import { Link } from "./link.js";

const STOPPING = new Set([1001, 1012]); // what a server says that is being stopped
const FULL = 1013;
const HEALTH_MS = 5_000;
const SETTLED_MS = 10_000; // a session that broke off sooner was none: we are still trying

/**
 * @typedef {object} Calls
 * @property {() => void} onbegin a session has begun, and has been told nothing yet
 * @property {(event: object) => void} onevent
 * @property {(frame: ArrayBuffer) => void} onaudio
 * @property {(stopping: boolean) => void} ondrop the session broke off; we try again
 * @property {(kind: string|null, seconds: number) => void} onwait we try again so much later
 * @property {() => void} onback
 * @property {(kind: string) => void} onfail we have given up
 */
export class Line {
  #url;
  #calls;
  #link = null;
  #patience;
  #signal;
  #begunAt = 0;
  #tried = 0; // since a session last settled
  #until = null; // when to stop trying to come back; null: we are settled

  /**
   * @param {string} url
   * @param {Calls} calls
   * @param {{patience: number, signal: AbortSignal}} options `patience` ms to try again for; when
   *   the signal fires, nothing more is tried
   */
  constructor(url, calls, { patience, signal }) {
    this.#url = url;
    this.#patience = patience;
    this.#calls = calls;
    this.#signal = signal;
  }

  /** @returns {Link|null} */
  get link() {
    return this.#link;
  }

  get open() {
    return this.#link?.open ?? false;
  }

  /** @param {object} event */
  send(event) {
    this.#link?.send(event);
  }

  /** Find out whether anyone is there. @param {number} patience ms */
  check(patience) {
    this.#link?.check(patience);
  }

  /** @returns {Promise<boolean>} whether we are in; a full server is asked again for a while */
  async connect() {
    const outcome = await this.#attempt();
    if (outcome === "open") return true;
    if (this.#signal.aborted) return false;
    if (outcome === "full") return this.#insist("full", false, performance.now() + this.#patience);
    return this.#fail(await this.#verdict());
  }

  /** Hang up. */
  async close() {
    const link = this.#link;
    this.#link = null;
    await link?.close();
  }

  /** @returns {Promise<'open'|'full'|'failed'>} */
  #attempt() {
    return new Promise((resolve) => {
      let full = false;
      // Whoever hangs up while they wait for a seat gives their place to those behind at once.
      const giveUp = () => {
        if (this.#link !== link) link.close();
        resolve("failed");
      };
      this.#signal.addEventListener("abort", giveUp, { once: true });
      const done = (outcome) => {
        this.#signal.removeEventListener("abort", giveUp);
        resolve(outcome);
      };
      const link = new Link(this.#url, {
        onevent: (event) => {
          if (event.error?.code === "session_limit_reached") full = true;
          if (event.type === "session.created" && !this.#taken(link)) return;
          this.#calls.onevent(event);
          if (event.type === "session.created") done("open");
        },
        onaudio: (frame) => this.#calls.onaudio(frame),
        onclose: (code) => {
          if (this.#link === link) this.#dropped(STOPPING.has(code));
          done(full || code === FULL ? "full" : "failed");
        },
      });
    });
  }

  /** Whether anyone still wants the session that has just begun. */
  #taken(link) {
    if (this.#signal.aborted) {
      link.close();
      return false;
    }
    this.#link = link;
    this.#begunAt = performance.now();
    this.#calls.onbegin();
    return true;
  }

  #dropped(stopping) {
    this.#link = null;
    if (this.#signal.aborted) return;
    const now = performance.now();
    if (now - this.#begunAt > SETTLED_MS) [this.#tried, this.#until] = [0, null];
    this.#until ??= now + this.#patience;
    this.#calls.ondrop(stopping);
    this.#insist("failed", stopping, this.#until);
  }

  /** Try until we are in, or out of patience. */
  async #insist(last, stopping, until) {
    const wasIn = last !== "full";
    let outcome = last;
    while (performance.now() < until) {
      const wait = waitBefore(this.#tried);
      this.#tried += 1;
      const kind = outcome === "full" ? "full" : stopping ? "gone" : null;
      this.#calls.onwait(kind, Math.ceil(wait / 1000));
      await pause(wait, window, ["online"], this.#signal);
      if (this.#signal.aborted) return false;
      outcome = await this.#attempt();
      if (this.#signal.aborted) return false;
      if (outcome === "open") {
        if (wasIn) this.#calls.onback();
        return true;
      }
    }
    if (outcome === "full") return this.#fail("full");
    const verdict = await this.#verdict();
    return this.#fail(wasIn && verdict === "refused" ? "error" : verdict); // it did let us in
  }

  #fail(kind) {
    if (!this.#signal.aborted) this.#calls.onfail(kind);
    return false;
  }

  /** Why nobody lets us in: does the server answer at all? */
  async #verdict() {
    const health = new URL(this.#url, location.href);
    health.protocol = health.protocol.replace("ws", "http");
    health.pathname = "/health";
    const options = { mode: "no-cors", cache: "no-store", signal: AbortSignal.timeout(HEALTH_MS) };
    try {
      await fetch(health, options);
      return "refused";
    } catch {
      return "gone";
    }
  }
}

/** What somebody thinks, on its way to the server: gathered for a moment, and not lost. */

import { api, ApiError } from "../core/api.js";

const SETTLE_MS = 1200; // people correct themselves
const AGAIN_MS = [1000, 3000, 10_000, 30_000];
const PASSING = new Set([0, 425, 429, 500, 502, 503, 504]); // such answers may be another one soon

/**
 * Gathers scores and words, and sends what is new in one rating.
 * @fires CustomEvent#change whenever `state` does
 */
export class Ballot extends EventTarget {
  /** @type {"open" | "waiting" | "sent" | "failed"} */
  state = "open";
  /** @type {ApiError | null} */
  problem = null;
  #sessionId;
  #secret;
  #itemId;
  #settle;
  #unsent = {};
  #comment = "";
  #timer = 0;
  #tries = 0;
  #sending = null;

  /**
   * @param {{sessionId: string, secret: string, itemId?: string | null, settle?: number}} about
   *   without an item, all of the session is rated
   */
  constructor({ sessionId, secret, itemId = null, settle = SETTLE_MS }) {
    super();
    this.#sessionId = sessionId;
    this.#secret = secret;
    this.#itemId = itemId;
    this.#settle = settle;
  }

  /** @param {string} name @param {number} score 1 to 5 */
  score(name, score) {
    this.#unsent[name] = score;
    this.#wait(this.#settle);
  }

  /** Words are sent when their writer says so, with `send`. */
  say(comment) {
    this.#comment = comment.trim();
    if (this.#comment) this.#become("waiting");
  }

  /** Send now what has not been; `leaving` lets it outlive the page. */
  async send({ leaving = false } = {}) {
    clearTimeout(this.#timer);
    if (this.#sending && !leaving) await this.#sending;
    const scores = this.#unsent;
    const comment = this.#comment;
    if (!Object.keys(scores).length && !comment) return;
    this.#unsent = {};
    this.#comment = "";
    this.#sending = this.#post(scores, comment, leaving);
    await this.#sending;
    this.#sending = null;
  }

  async #post(scores, comment, keepalive) {
    const item = this.#itemId ? { item_id: this.#itemId } : {};
    try {
      await api(`/api/sessions/${this.#sessionId}/ratings`, {
        method: "POST", token: this.#secret, keepalive,
        json: { scores, ...item, ...(comment ? { comment } : {}) },
      });
      this.#tries = 0;
      this.#become(Object.keys(this.#unsent).length ? "waiting" : "sent");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#failed(error, scores, comment);
    }
  }

  #failed(error, scores, comment) {
    const again = AGAIN_MS[this.#tries];
    if (!PASSING.has(error.status) || again === undefined) {
      this.#become("failed", error);
      return;
    }
    this.#tries += 1;
    this.#unsent = { ...scores, ...this.#unsent }; // what was chosen since counts
    this.#comment ||= comment;
    this.#wait(again);
  }

  #wait(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.send(), ms);
    this.#become("waiting");
  }

  #become(state, problem = null) {
    this.state = state;
    this.problem = problem;
    this.dispatchEvent(new CustomEvent("change"));
  }
}

/**
 * Have a ballot sent when its element's page is left or hidden, or the signal fires; after that
 * nothing here knows of it any more.
 * @param {Ballot} ballot @param {HTMLElement} element @param {AbortSignal} [signal]
 */
export function sendWhenLeft(ballot, element, signal) {
  const over = new AbortController();
  const leave = () => {
    ballot.send({ leaving: true });
    if (!element.isConnected || signal?.aborted) over.abort();
  };
  signal?.addEventListener("abort", leave, { signal: over.signal });
  window.addEventListener("pagehide", leave, { signal: over.signal });
  document.addEventListener("visibilitychange", () => document.hidden && leave(), { signal: over.signal });
}

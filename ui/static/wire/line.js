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
 * @property {() => void} onaway the socket was lost; we try to come back to the session
 * @property {(resumed: object) => void} onresume we are back in it, and are told what we missed
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
  #protocols;
  #begunAt = 0;
  #tried = 0; // since a session last settled
  #until = null; // when to stop trying to come back; null: we are settled
  /** @type {import('./link.js').Ticket|null} */
  #ticket = null;

  /**
   * @param {string} url
   * @param {Calls} calls
   * @param {{patience: number, signal: AbortSignal, protocols?: () => Promise<string[]>}} options
   *   `patience` ms to try again for; when the signal fires, nothing more is tried; `protocols`
   *   of a socket: one may hold a key that is soon too old for the next
   */
  constructor(url, calls, { patience, signal, protocols = async () => [] }) {
    this.#protocols = protocols;
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

  /** @returns {Promise<'open'|'resumed'|'full'|'unknown'|'failed'>} `unknown`: the ticket is void */
  async #attempt() {
    let protocols;
    try {
      protocols = await this.#protocols();
    } catch {
      return "failed"; // no key was to be had
    }
    if (this.#signal.aborted) return "failed";
    const ticket = this.#ticket;
    const inside = ticket ? "attune.resumed" : "session.created";
    return new Promise((resolve) => {
      let problem = null;
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
      const link = new Link(this.#url, protocols, {
        onevent: (event) => {
          problem = event.error?.code ?? problem;
          if (event.type === inside && !this.#taken(link, ticket ? event : null)) return;
          this.#remember(event, link);
          if (this.#link === link || !ticket) this.#calls.onevent(event);
          if (event.type === inside) done(ticket ? "resumed" : "open");
        },
        onaudio: (frame) => this.#calls.onaudio(frame),
        onclose: (code) => {
          if (this.#link === link) this.#dropped(STOPPING.has(code));
          if (problem === "resume_failed") done("unknown");
          const full = problem === "session_limit_reached" || code === FULL;
          done(full && problem !== "server_stopping" ? "full" : "failed");
        },
      }, ticket);
    });
  }

  /** With what to come back, and to which moment. */
  #remember(event, link) {
    if (event.type === "attune.session") {
      const token = event.resume_token;
      this.#ticket = token ? { token, after: event.event_id } : null;
    } else if (this.#ticket && this.#link === link) {
      this.#ticket.after = event.event_id ?? this.#ticket.after;
    }
  }

  /** Whether anyone still wants the session that has just begun. */
  #taken(link, resumed) {
    if (this.#signal.aborted) {
      link.close();
      return false;
    }
    this.#link = link;
    this.#begunAt = performance.now();
    if (resumed) this.#calls.onresume(resumed);
    else this.#calls.onbegin();
    return true;
  }

  #dropped(stopping) {
    this.#link = null;
    if (this.#signal.aborted) return;
    const now = performance.now();
    if (now - this.#begunAt > SETTLED_MS) [this.#tried, this.#until] = [0, null];
    this.#until ??= now + this.#patience;
    if (stopping) this.#ticket = null; // and all it knew of us goes with it
    if (this.#ticket) this.#calls.onaway();
    else this.#calls.ondrop(stopping);
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
      if (outcome === "unknown" && !this.#signal.aborted) {
        this.#ticket = null; // then a new session it is, with what the page knows
        this.#calls.ondrop(false);
        outcome = await this.#attempt();
      }
      if (this.#signal.aborted) return false;
      if (outcome === "resumed") return true;
      if (outcome === "open") {
        if (wasIn) this.#calls.onback();
        return true;
      }
    }
    if (this.#ticket) this.#calls.ondrop(stopping);
    this.#ticket = null;
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

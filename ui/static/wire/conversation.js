/** A conversation with the server, over as many sockets as it takes. */

import { Downlink } from "./downlink.js";
import { Line } from "./line.js";
import * as opening from "./opening.js";
import { PushToTalk } from "./push_to_talk.js";
import { BEGINNING, story } from "./story.js";
import { Uplink } from "./uplink.js";

const GIVE_UP_MS = 60_000;
const FADE_MS = 120; // the longest we wait to learn how much of a stopped reply sounded
const PATIENCE_MS = 4_000; // for an answer to "are you there?"
const THOUGHTFUL_MS = 12_000; // so long without a word, and we ask
const GIVEN_UP = new Set(["child", "deleted"]); // then nothing is kept in later sessions either

/**
 * Fires `change` whenever `state` is another.
 *
 * @typedef {import('./opening.js').Wishes & {
 *   greeting?: string|null,
 *   devices?: {deviceId?: string, outputId?: string, microphone?: boolean}|null}} Start
 *   without `devices` the sound is open already
 */
export class Conversation extends EventTarget {
  /** @type {import('./story.js').State} */
  state = BEGINNING;

  #url;
  #sound;
  #patience;
  #protocols;
  #line = null;
  #uplink = new Uplink(() => this.#happened({ type: "local.notice", kind: "gap" }));
  #downlink;
  #wishes = { consent: null, name: null, perception: true, persona: null, pushToTalk: false };
  #over = new AbortController();
  #button;
  #stopping = null; // until the server is told that a reply was stopped
  #thoughtful = 0;
  #played = null; // the last report, in case it does not arrive
  #consented = ""; // what the session was told of consent

  /**
   * @param {{url?: string, sound: object, patience?: number, protocols?: () => Promise<string[]>}} options
   *   `patience` ms to reconnect; `protocols`, asked for anew for every socket
   */
  constructor({ url = "/v1/realtime", sound, patience = GIVE_UP_MS, protocols = async () => [] }) {
    super();
    [this.#url, this.#sound, this.#patience, this.#protocols] = [url, sound, patience, protocols];
    const happened = (event) => this.#happened(event);
    this.#downlink = new Downlink(sound, (...told) => this.#report(...told), happened);
    this.#button = new PushToTalk(this.#uplink, (event) => this.#line?.send(event), happened);
  }

  /**
   * @param {Partial<Start>} start
   * @returns {Promise<boolean>} whether we are talking; if not, `state.problem` says why
   */
  async start({ greeting = null, devices = null, ...wishes } = {}) {
    Object.assign(this.#wishes, wishes);
    const over = new AbortController();
    this.#over = over;
    this.#happened({ type: "local.connecting" });
    const open = devices ? await this.#openSound(devices, over.signal) : true;
    if (!open || over.signal.aborted) return false;
    this.#attend();
    if (greeting && !this.state.turns.length) {
      this.#happened({ type: "local.greeting", id: opening.newItemId(), text: greeting });
    }
    const options = { patience: this.#patience, signal: over.signal, protocols: this.#protocols };
    this.#line = new Line(this.#url, this.#calls(), options);
    return this.#line.connect();
  }

  /** @param {string} text @returns {boolean} whether it could be sent */
  sendText(text) {
    const said = text.trim();
    if (!said || !this.#line?.open) return false;
    const silence = this.stopReply();
    const id = opening.newItemId();
    this.#happened({ type: "local.text", id, text: said });
    const { link } = this.#line;
    silence.then(() => {
      link.send(opening.itemEvent(id, "user", said));
      link.send({ type: "response.create" });
    });
    return true;
  }

  /** Push-to-talk: from here on the microphone is heard. */
  press() {
    if (!this.#wishes.pushToTalk || this.#button.pressed || !this.#line?.open) return;
    this.stopReply();
    this.#button.press();
  }

  /** Push-to-talk: that was all. @returns {Promise<void>} once it has been sent */
  release() {
    return this.#button.release();
  }

  /** Silence the reply being given, or thought of. @returns {Promise<void>} once it is told */
  stopReply() {
    const { reply, phase } = this.state;
    const given = reply && !reply.over;
    if (!given && phase !== "thinking") return Promise.resolve();
    this.#stopped();
    // The reply is remembered as far as it was heard: first learn how far that is.
    const told = new Promise((resolve) => {
      const sounds = given && reply.lag !== null;
      const timer = setTimeout(() => this.#stopped(), sounds ? FADE_MS : 0);
      this.#stopping = { timer, resolve };
    });
    this.#downlink.hush();
    return told;
  }

  /** @param {import('./opening.js').Wishes['consent']} consent */
  setConsent(consent) {
    this.#wishes.consent = consent;
    if (this.#line?.open) this.#tellConsent();
  }

  #tellConsent() {
    const event = opening.consentEvent(this.#wishes);
    this.#consented = JSON.stringify(event);
    this.#line.send(event);
  }

  /** @param {boolean} on */
  setPerception(on) {
    this.#wishes.perception = on;
    this.#line?.send(opening.perceptionUpdate(on));
    if (!on) this.#happened({ type: "local.unperceived" });
  }

  /** @param {boolean} on */
  setPushToTalk(on) {
    if (on === this.#wishes.pushToTalk) return;
    this.#wishes.pushToTalk = on;
    this.#button.begin(on);
    this.#line?.send(opening.detectionUpdate(on));
    this.#line?.send({ type: "input_audio_buffer.clear" });
  }

  /**
   * Other devices, also in place of one that was lost.
   *
   * @param {{deviceId?: string, outputId?: string}} devices
   * @returns {Promise<boolean>}
   */
  async choose(devices) {
    try {
      await this.#sound.choose(devices);
    } catch (problem) {
      this.#happened({ type: "local.problem", kind: problem.kind ?? "error" });
      return false;
    }
    if (this.#sound.capture) this.#line?.send(opening.captureUpdate(this.#sound.capture));
    this.#happened({ type: "local.problem", kind: null });
    return true;
  }

  /** The notice has been read. */
  dismiss() {
    this.#happened({ type: "local.notice", kind: null });
  }

  /** Hang up and let go of the microphone. */
  async end() {
    if (this.#over.signal.aborted) return;
    this.#letGo();
    this.#happened({ type: "local.ended" });
    await Promise.all([this.#line?.close(), this.#sound.close()]);
  }

  #calls() {
    return {
      onbegin: () => this.#begin(),
      onevent: (event) => this.#heard(event),
      onaudio: (frame) => this.#downlink.audio(frame, performance.now()),
      onaway: () => this.#away(),
      onresume: (resumed) => this.#resumed(resumed),
      ondrop: (stopping) => this.#dropped(stopping),
      onwait: (kind, seconds) => this.#happened({ type: "local.waiting", kind, seconds }),
      onback: () => this.#back(),
      onfail: (kind) => this.#fail(kind),
    };
  }

  async #openSound(devices, signal) {
    try {
      await this.#sound.open(devices);
      return true;
    } catch (problem) {
      if (!signal.aborted) await this.#fail(problem.kind ?? "error");
      return false;
    }
  }

  /** Listen to the sound and to the browser, until we let go. */
  #attend() {
    const { signal } = this.#over;
    const on = (target, name, listener) => target.addEventListener(name, listener, { signal });
    this.#sound.onframe = (samples, captured) => {
      this.#uplink.frame(samples, captured);
      this.#button.tick();
    };
    on(this.#sound, "played", ({ detail }) => this.#downlink.played(detail, performance.now()));
    on(this.#sound, "lost", () => this.#happened({ type: "local.problem", kind: "lost" }));
    on(window, "offline", () => {
      this.#happened({ type: "local.notice", kind: "offline" });
      this.#line?.check(PATIENCE_MS);
    });
    on(window, "online", () => {
      if (this.state.notice?.kind === "offline") this.dismiss();
      this.#line?.check(PATIENCE_MS);
    });
    on(document, "visibilitychange", () => document.hidden || this.#line?.check(PATIENCE_MS));
  }

  #letGo() {
    this.#over.abort();
    clearTimeout(this.#thoughtful);
    this.#stopped();
    this.#button.begin(false);
    this.#uplink.begin(null);
    this.#downlink.begin();
    this.#sound.onframe = () => {};
  }

  /** A session has begun: say what it must know, and only then anything else. */
  #begin() {
    const { link } = this.#line;
    this.#downlink.begin();
    this.#played = null;
    this.#tellConsent();
    link.send(opening.settingsUpdate(this.#wishes, this.#sound.capture));
    for (const event of opening.historyEvents(this.state.turns)) link.send(event);
    this.#uplink.begin(link);
    this.#button.begin(this.#wishes.pushToTalk);
  }

  /** The socket was lost. What we have of a reply goes on sounding; nobody hears us meanwhile. */
  #away() {
    this.#stopped();
    this.#button.begin(false);
    this.#uplink.begin(null);
    this.#happened({ type: "local.away" });
  }

  /** We are back in the session: it must know what has changed here, and what has sounded. */
  #resumed({ input_samples: sent }) {
    const { link } = this.#line;
    const changed = JSON.stringify(opening.consentEvent(this.#wishes)) !== this.#consented;
    if (changed) this.#tellConsent();
    link.send(opening.settingsUpdate(this.#wishes, this.#sound.capture));
    if (this.#played) link.send(this.#played);
    this.#uplink.resume(link, sent);
    this.#button.begin(this.#wishes.pushToTalk);
    if (this.#wishes.pushToTalk) link.send({ type: "input_audio_buffer.clear" });
    this.#happened({ type: "local.resumed", unheard: this.#wishes.pushToTalk });
  }

  #dropped(stopping) {
    this.#stopped();
    this.#button.begin(false);
    this.#uplink.begin(null);
    this.#happened({ type: "local.dropped", stopping });
    this.#downlink.begin();
  }

  /** We are talking again: what waits for an answer gets it now. */
  #back() {
    const last = this.state.turns.at(-1);
    const thinking = last?.role === "user" && !last.interrupted && !last.failed;
    this.#happened({ type: "local.reconnected", thinking });
    if (thinking) this.#line.send({ type: "response.create" });
  }

  async #fail(kind) {
    this.#letGo();
    this.#happened({ type: "local.failed", kind });
    await this.#sound.close();
  }

  /** Everything the server says. */
  #heard(event) {
    if (event.type === "attune.percept" && !this.#wishes.perception) return; // it was on its way
    if (event.type === "attune.recording" && GIVEN_UP.has(event.reason)) {
      Object.assign(this.#wishes, { consent: null, name: null });
    }
    const samples = this.#downlink.received(event.response_id);
    this.#happened({ ...event, samples });
    this.#downlink.follow(event);
    if (event.type === "conversation.item.truncated") {
      this.#line?.send({ type: "conversation.item.retrieve", item_id: event.item_id });
    }
  }

  /** Tell the server what has sounded. */
  #report({ responseId, itemId }, { samples, inputSamples, why }) {
    if (!itemId) return;
    const where = this.#uplink.position(inputSamples);
    const played = {
      type: "attune.playback",
      response_id: responseId,
      item_id: itemId,
      played_samples: samples,
    };
    this.#played = played; // told later, it is not known any more when that was
    this.#line?.send({ ...played, ...(where === null ? {} : { input_samples: where }) });
    if (why === "flushed") this.#stopped();
  }

  #stopped() {
    if (!this.#stopping) return;
    const { timer, resolve } = this.#stopping;
    this.#stopping = null;
    clearTimeout(timer);
    this.#line?.send({ type: "output_audio_buffer.clear" });
    resolve();
  }

  #happened(event) {
    const next = story(this.state, event);
    if (next === this.state) return;
    this.state = next;
    clearTimeout(this.#thoughtful);
    if (next.phase === "thinking") {
      this.#thoughtful = setTimeout(() => this.#line?.check(PATIENCE_MS), THOUGHTFUL_MS);
    }
    this.dispatchEvent(new Event("change"));
  }
}

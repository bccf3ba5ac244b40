/** The Talk page: from the first press to the thanks at the end. */

import { closingPanel } from "../closing/closing.js";
import { askConsent } from "../consent/consent.js";
import { h, replace } from "../core/dom.js";
import { protocols } from "../core/entry.js";
import { settings } from "../core/page.js";
import { Sound } from "../voice/sound.js";
import { Conversation } from "../wire/conversation.js";
import { Demo } from "./demo.js";
import { firstView } from "./first.js";
import { openHelp } from "./help.js";
import { Idle } from "./idle.js";
import { listenToKeys } from "./keyboard.js";
import { liveView } from "./live.js";
import { openOptions } from "./options.js";
import { remember, remembered, resized, usual } from "./remember.js";
import { needsPerception } from "./recording.js";
import { keepAtHand, leftBehind } from "./left_behind.js";
import { hears } from "./side.js";

const NOBODY = 60; // seconds until a screen that stands by itself starts anew
const WARNED = 10; // of which so many are counted down
const NOT_RECORDED = Object.freeze({ transcript: false, audio: false, research: false });

export class Talk {
  #page;
  #chosen = usual();
  #view = null;
  #sound = null;
  #conversation = null;
  #demo = null;
  #hands = null;
  #frame = 0;
  #idle = null;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.#page = h("div", { class: "talk" });
    this.#page.classList.toggle("talk-kiosk", settings.kiosk);
    this.#choose(settings.kiosk ? usual() : remembered());
    replace(element, this.#page);
    const wanted = (action) => this.#hands !== null && (this.#chosen.shortcuts || action === "talk");
    listenToKeys(this.#keys(), wanted, () => Boolean(this.#hands?.pushToTalk));
    if (settings.kiosk) this.#watch();
    const left = settings.kiosk ? [] : leftBehind();
    if (left.length) this.#closing(left, null);
    else this.first();
  }

  /** The first view, with nothing left of whoever talked before. */
  first() {
    if (settings.kiosk) this.#choose(usual());
    keepAtHand([]);
    const view = firstView({
      onStart: () => this.begin(),
      onDemo: () => this.begin({ demo: true }),
      onType: () => this.begin({ microphone: false }),
    });
    this.#show("first", view);
  }

  /** @param {{demo?: boolean, microphone?: boolean, asked?: object}} how */
  async begin({ demo = false, microphone = !demo, asked = null } = {}) {
    if (this.#conversation) return;
    const view = this.#view;
    view.problem(null);
    this.#idle?.start(); // what somebody typed and left must not stay
    this.#conversation = new Conversation({ url: socketUrl(), sound: (this.#sound = new Sound()), protocols });
    const answer = asked ?? (await askConsent({ settings, remembered: { perception: this.#chosen.perception } }));
    if (!answer || !this.#conversation) {
      await this.#shut();
      return;
    }
    view.busy(true);
    const again = () => this.begin({ demo, microphone, asked: answer });
    if (await this.#connect(view, answer, microphone)) {
      this.#converse({ demo, microphone });
      return;
    }
    const problem = this.#conversation?.state.problem;
    await this.#shut();
    if (this.#view !== view) return;
    view.busy(false);
    view.problem(problem, { again });
  }

  /** Until we are in; why it takes time is told on the first view. */
  async #connect(view, { consent, perception, name }, microphone) {
    const conversation = this.#conversation;
    if (hears) this.#choose(this.#remember({ perception }));
    const tell = () => {
      const { problem, queue } = conversation.state;
      if (queue) this.#idle?.touch(); // somebody who waits is there
      view.queue(queue, () => this.#shut());
      if (problem?.seconds) view.problem(problem, { cancel: () => this.#shut() });
    };
    conversation.addEventListener("change", tell);
    const devices = { ...this.#devices(), microphone };
    const pushToTalk = this.#chosen.pushToTalk && microphone;
    const { persona, greeting } = settings;
    const talking = await conversation.start({ consent, name, perception, pushToTalk, persona, greeting, devices });
    conversation.removeEventListener("change", tell);
    return talking && conversation === this.#conversation;
  }

  #converse({ demo, microphone }) {
    const [conversation, sound] = [this.#conversation, this.#sound];
    this.#hands = {
      muted: false, pressed: false, silent: !microphone, pushToTalk: this.#chosen.pushToTalk && microphone,
    };
    this.#demo = demo ? new Demo({ conversation, sound }) : null;
    const view = liveView({ on: this.#deeds(), demo: this.#demo, perception: this.#chosen.perception });
    this.#show("live", view);
    view.focus();
    sound.addEventListener("level", ({ detail }) => view.level(detail));
    conversation.addEventListener("change", () => this.#draw());
    this.#demo?.addEventListener("change", () => this.#draw());
    this.#draw();
    this.#demo?.play(settings.demo);
  }

  /** At most once a frame, however fast things happen. */
  #draw() {
    if (this.#frame || !this.#conversation) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (!this.#conversation) return;
      const { state } = this.#conversation;
      if (["hearing", "thinking", "speaking"].includes(state.phase)) this.#idle?.touch();
      if (!settings.kiosk) keepAtHand(state.recording?.recording ? state.sessions : []);
      const demo = this.#demo && (this.#demo.running ? "plays" : "waits");
      this.#view.show(state, { ...this.#hands, demo });
    });
  }

  #deeds() {
    return {
      deed: (name) => this.#deed(name),
      press: () => this.#press(true),
      release: () => this.#press(false),
      mute: () => this.#mute(),
      push: () => this.#change({ pushToTalk: !this.#hands.pushToTalk }),
      text: (words) => this.#conversation?.sendText(words) ?? false,
      options: () => this.#options(),
      help: () => openHelp(this.#page),
      end: () => this.end(),
      again: () => this.#again(),
      stay: () => this.#idle?.touch(),
      dismiss: () => this.#conversation?.dismiss(),
      perception: (on) => this.#change({ perception: on }),
      stopRecording: () => this.#conversation?.setConsent(NOT_RECORDED),
    };
  }

  #keys() {
    return {
      talk: (down) => {
        if (this.#hands.pushToTalk) this.#press(down);
        else if (down) this.#conversation.stopReply();
      },
      mute: () => this.#mute(),
      stop: () => this.#conversation.stopReply(),
      type: () => this.#view.field.focus(),
      push: () => !this.#hands.silent && this.#change({ pushToTalk: !this.#hands.pushToTalk }),
      larger: () => this.#change({ captions: resized(this.#chosen.captions, 1) }),
      smaller: () => this.#change({ captions: resized(this.#chosen.captions, -1) }),
      options: () => this.#options(),
      end: () => this.end(),
      help: () => openHelp(this.#page),
    };
  }

  /** What the large button does when it is pressed: see phase.js. */
  #deed(name) {
    if (!this.#conversation) return;
    if (name === "stop") this.#conversation.stopReply();
    else if (name === "play") this.#demo.play(settings.demo);
    else if (name === "write") this.#view.field.focus();
    else this.#mute();
  }

  #press(down) {
    if (!this.#hands || this.#hands.pressed === down) return;
    this.#hands = { ...this.#hands, pressed: down };
    if (down) this.#conversation.press();
    else this.#conversation.release();
    this.#draw();
  }

  #mute() {
    if (!this.#hands || this.#hands.silent) return;
    const muted = !this.#hands.muted;
    this.#hands = { ...this.#hands, muted };
    this.#sound.muted = muted;
    this.#draw();
  }

  #options() {
    return openOptions(this.#page, {
      chosen: this.#chosen,
      devices: () => Sound.devices(),
      microphone: !this.#hands.silent,
      needed: needsPerception(this.#conversation.state.recording),
      changed: this.#sound,
      onChange: (change) => this.#change(change),
    });
  }

  /** Something was set: it holds now, and the next time. */
  #change(change) {
    this.#choose(this.#remember(change));
    if ("perception" in change) {
      this.#conversation?.setPerception(change.perception);
      this.#view.perception?.(change.perception);
    }
    if ("pushToTalk" in change && this.#hands) {
      this.#hands = { ...this.#hands, pushToTalk: change.pushToTalk, pressed: false };
      this.#conversation?.setPushToTalk(change.pushToTalk);
    }
    if ("input" in change) this.#conversation?.choose({ deviceId: change.input });
    if ("output" in change) this.#conversation?.choose({ outputId: change.output });
    this.#draw();
  }

  /** A screen that stands by itself forgets its visitors. */
  #remember(change) {
    return remember(this.#chosen, change, { keep: !settings.kiosk });
  }

  #choose(chosen) {
    this.#chosen = chosen;
    this.#page.dataset.captions = chosen.captions;
  }

  #devices() {
    return { deviceId: this.#chosen.input, outputId: this.#chosen.output };
  }

  /** After something went wrong: the same conversation goes on. */
  #again() {
    const { phase } = this.#conversation.state;
    if (phase !== "ended") return this.#conversation.choose(this.#devices());
    return this.#conversation.start({ devices: { ...this.#devices(), microphone: !this.#hands.silent } });
  }

  /** Over: what was kept can be rated, taken along or deleted. */
  async end() {
    if (!this.#conversation) return;
    const { sessions, recording } = this.#conversation.state;
    await this.#shut();
    if (sessions.length === 0) {
      this.first();
      return;
    }
    this.#closing(sessions, recording);
  }

  #closing(sessions, recording) {
    const over = new AbortController();
    const onAgain = () => {
      this.first();
      attend(this.#page);
    };
    const panel = closingPanel({ sessions, recording, onAgain, signal: over.signal });
    this.#show("end", { element: h("div", { class: "over" }, panel), close: () => over.abort() });
    attend(this.#page);
  }

  async #shut() {
    const [conversation, sound, demo] = [this.#conversation, this.#sound, this.#demo];
    this.#conversation = this.#sound = this.#demo = this.#hands = null;
    demo?.stop();
    await conversation?.end();
    await sound?.close(); // if nothing was ever started with it
  }

  #show(name, view) {
    this.#view?.close();
    this.#view = view;
    this.#page.dataset.view = name;
    replace(this.#page, view.element);
    scrollTo(0, 0);
    if (name === "first") this.#idle?.stop();
    else this.#idle?.start();
  }

  #watch() {
    this.#idle = new Idle({
      seconds: NOBODY,
      warn: WARNED,
      onLeft: (seconds) => this.#view?.left?.(seconds),
      onGone: async () => {
        for (const open of document.querySelectorAll("dialog[open]")) open.close();
        await this.#shut();
        this.first();
      },
    });
    for (const name of ["pointerdown", "keydown", "input", "wheel"]) {
      document.addEventListener(name, () => this.#idle.touch(), { passive: true });
    }
  }
}

function socketUrl() {
  const url = new URL("/v1/realtime", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** Let a screen reader begin at what is new. */
function attend(page) {
  const heading = page.querySelector("h1, h2");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

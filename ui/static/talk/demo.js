/** Prepared recordings speak as the user, one after another, each waiting for its answer. */

const PAUSE = 900; // ms between an answer and the next recording
const CUT_IN = 1500; // ms of an answer before one that interrupts begins
const PATIENCE = 45_000; // ms for an answer; then the show goes on

export class Demo extends EventTarget {
  #conversation;
  #sound;
  #stopping = null;
  /** The recording being said, or null. */
  playing = null;
  /** Whether recordings are being played, or answers waited for. */
  running = false;

  /** @param {{conversation: EventTarget & {state: object}, sound: {say: Function}}} parts */
  constructor({ conversation, sound }) {
    super();
    this.#conversation = conversation;
    this.#sound = sound;
  }

  /** @param {{id: string, url: string, interrupts?: boolean}[]} clips */
  async play(clips) {
    this.stop();
    const stopping = new AbortController();
    this.#stopping = stopping;
    this.#tell({ running: true });
    try {
      for (const [place, clip] of clips.entries()) {
        await this.#turn(clip, clips[place + 1], stopping.signal);
      }
    } catch (error) {
      if (!stopping.signal.aborted) this.dispatchEvent(new CustomEvent("failed", { detail: error }));
    } finally {
      if (this.#stopping === stopping) this.#tell({ running: false, playing: null });
    }
  }

  stop() {
    this.#stopping?.abort();
    this.#stopping = null;
    if (this.running) this.#tell({ running: false, playing: null });
  }

  async #turn(clip, next, signal) {
    await until(this.#conversation, ready, signal);
    const before = replies(this.#conversation.state);
    this.#tell({ playing: clip });
    await this.#sound.say(clip.url, { signal });
    signal.throwIfAborted();
    this.#tell({ playing: null });
    if (next?.interrupts) {
      await until(this.#conversation, (state) => state.phase === "speaking", signal);
      await pause(CUT_IN, signal);
      return;
    }
    await until(this.#conversation, (state) => answered(state, before), signal);
    if (next) await pause(PAUSE, signal);
  }

  #tell(change) {
    Object.assign(this, change);
    this.dispatchEvent(new Event("change"));
  }
}

function ready({ phase }) {
  return phase !== "connecting" && phase !== "reconnecting";
}

function replies({ turns }) {
  return turns.filter(({ role, partial }) => role === "assistant" && !partial).length;
}

/** @param {{phase: string, turns: object[]}} state @param {number} before */
export function answered(state, before) {
  return replies(state) > before && (state.phase === "listening" || state.phase === "interrupted");
}

/** Resolves when the state is such, or patience is over; rejects when stopped. */
function until(conversation, such, signal) {
  return new Promise((resolve, reject) => {
    const done = new AbortController();
    const settle = (how) => (value) => {
      clearTimeout(timer);
      done.abort();
      how(value);
    };
    const look = () => such(conversation.state) && settle(resolve)();
    const timer = setTimeout(settle(resolve), PATIENCE);
    conversation.addEventListener("change", look, { signal: done.signal });
    signal.addEventListener("abort", () => settle(reject)(signal.reason), { signal: done.signal });
    if (signal.aborted) settle(reject)(signal.reason);
    else look();
  });
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    }, { once: true });
  });
}

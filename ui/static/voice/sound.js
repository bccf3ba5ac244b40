/** The sound of the page: a microphone that gives frames, and a loudspeaker that says what it played. */

import { stayAwake } from "./awake.js";
import { captureOf, devices, openMicrophone } from "./microphone.js";
import { SoundProblem, problemOf, requireSound } from "./problem.js";
import { WIRE_RATE } from "./rates.js";

export { SoundProblem };

const MOST_LATENCY_SEC = 1; // a browser that tells more is mistaken

/**
 * Events, each with a `detail`:
 * - `level` {input, output}: from 0 to 1, some thirty times a second
 * - `played` {sequence, samples, inputSamples, why, underruns}: why is `first`, `progress`, `dry`,
 *   `held`, `flushed` or `ended`
 * - `lost`: the microphone was unplugged; silence is captured until another is chosen
 * - `devices`: there are other devices to choose from
 * - `state` {running}: the browser stopped all sound, or lets it go on
 */
export class Sound extends EventTarget {
  /** How the browser records; null without a microphone. */
  capture = null;
  /** Samples captured so far, at 24 kHz. */
  captured = 0;
  /** @type {((frame: Int16Array, captured: number) => void)|null} */
  onframe = null;
  #context = null;
  #node = null;
  #mixer = null; // all that can be heard
  #track = null;
  #source = null;
  #script = null; // the recording that speaks as the user
  #muted = false;
  #open = new AbortController();
  #latencies = new Map(); // of the loudspeaker when a reply began, in samples

  static devices() {
    return devices();
  }

  /**
   * To be called in a click: browsers make no sound before one.
   * @param {{deviceId?: string, outputId?: string, microphone?: boolean}} [wanted]
   * @throws {SoundProblem}
   */
  async open({ deviceId, outputId, microphone = true } = {}) {
    if (this.#context) await this.close();
    this.#open = new AbortController();
    const { signal } = this.#open;
    this.captured = 0;
    this.capture = null;
    let track = null;
    try {
      requireSound();
      this.#context = contextAt(WIRE_RATE);
      if (microphone) track = await openMicrophone(deviceId);
      if (!signal.aborted) await this.#start(track, outputId, signal);
    } catch (error) {
      if (!signal.aborted) await this.close();
      track?.stop();
      throw problemOf(error);
    }
    if (signal.aborted) track?.stop(); // closed in the meantime
  }

  /** Other devices; what is not named stays, and an empty name is the default. */
  async choose({ deviceId, outputId } = {}) {
    const { signal } = this.#open;
    try {
      if (outputId !== undefined) await this.#hearOn(outputId);
      if (deviceId === undefined) return;
      const track = await this.#another(deviceId);
      if (signal.aborted) track.stop();
      else this.#listenTo(track, signal);
    } catch (error) {
      throw problemOf(error);
    }
  }

  async close() {
    this.#open.abort();
    this.#script?.stop();
    this.#track?.stop();
    this.#node?.port.postMessage({ kind: "close" });
    const context = this.#context;
    this.#context = this.#node = this.#mixer = this.#track = this.#source = null;
    this.#latencies.clear();
    if (context && context.state !== "closed") await context.close();
  }

  /** Whether silence is captured in place of the microphone; `say` is heard all the same. */
  get muted() {
    return this.#muted;
  }

  set muted(muted) {
    this.#muted = Boolean(muted);
    this.#switch();
  }

  /** Whether the browser lets sound pass; before a click it may not. */
  get running() {
    return this.#context?.state === "running";
  }

  /** Seconds from a sample's leaving us until it is heard, as far as the browser knows. */
  get outputLatency() {
    const { baseLatency = 0, outputLatency = 0 } = this.#context ?? {};
    return Math.min(MOST_LATENCY_SEC, Math.max(0, baseLatency + outputLatency) || 0);
  }

  /** All that can be heard, as a node to listen in on. @returns {AudioNode|null} */
  get output() {
    return this.#mixer;
  }

  /**
   * A prepared recording speaks as the user, in place of the microphone.
   * @param {string} url
   * @param {{audible?: boolean, signal?: AbortSignal}} [how] `audible`: on the loudspeaker, too
   * @returns {Promise<void>} when it is over, or was stopped
   */
  async say(url, { audible = true, signal } = {}) {
    const context = this.#context;
    if (!context) return;
    const answer = await fetch(url, { signal });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    const buffer = await context.decodeAudioData(await answer.arrayBuffer());
    if (!this.#node || context !== this.#context || signal?.aborted) return;
    this.#script?.stop();
    const source = new AudioBufferSourceNode(context, { buffer });
    this.#script = source;
    source.connect(this.#node);
    if (audible) source.connect(this.#mixer);
    this.#switch();
    signal?.addEventListener("abort", () => source.stop(), { once: true });
    const over = new Promise((resolve) => {
      source.addEventListener("ended", resolve, { once: true });
      this.#open.signal.addEventListener("abort", resolve, { once: true });
    });
    source.start();
    await over;
    source.disconnect();
    if (this.#script === source) this.#script = null;
    this.#switch();
  }

  /** @param {number} offset of the first sample in the reply @param {Int16Array} pcm at 24 kHz */
  play(sequence, offset, pcm) {
    const copy = pcm.slice();
    this.#node?.port.postMessage({ kind: "play", sequence, offset, pcm: copy }, [copy.buffer]);
  }

  /** The reply has so many samples and no more. */
  finish(sequence, total = 0) {
    this.#node?.port.postMessage({ kind: "finish", sequence, total });
  }

  /** Fade out and keep what has not sounded. */
  hold(sequence) {
    this.#node?.port.postMessage({ kind: "hold", sequence });
  }

  /** Go on where it faded. What the server sends next says itself where it belongs. */
  resume(sequence) {
    this.#node?.port.postMessage({ kind: "resume", sequence });
  }

  /** Fade out and forget the rest, for good. */
  flush(sequence) {
    this.#node?.port.postMessage({ kind: "flush", sequence });
  }

  async #start(track, outputId, signal) {
    try {
      await this.#build(track, signal);
    } catch (error) {
      // Some browsers take a microphone only at its own rate.
      if (error?.name !== "NotSupportedError") throw error;
      await this.#context.close();
      this.#context = contextAt();
      await this.#build(track, signal);
    }
    if (outputId) await this.#hearOn(outputId).catch(() => {}); // it is gone: the default will do
    if (signal.aborted) return;
    stayAwake(signal);
    this.#keepRunning(signal);
    navigator.mediaDevices?.addEventListener("devicechange", () => this.#tell("devices"), { signal });
  }

  async #build(track, signal) {
    const context = this.#context;
    await context.audioWorklet.addModule(new URL("./worklet.js", import.meta.url));
    if (signal.aborted) return;
    this.#node = new AudioWorkletNode(context, "attune-voice", {
      channelCount: 1, channelCountMode: "explicit", outputChannelCount: [1],
    });
    this.#node.port.onmessage = ({ data }) => this.#heard(data);
    this.#mixer = context.createGain();
    this.#node.connect(this.#mixer).connect(context.destination);
    if (track) this.#listenTo(track, signal);
  }

  #listenTo(track, signal) {
    const source = this.#context.createMediaStreamSource(new MediaStream([track]));
    source.connect(this.#node);
    this.#source?.disconnect();
    this.#track?.stop();
    this.#source = source;
    this.#track = track;
    this.capture = captureOf(track);
    this.#switch();
    track.addEventListener("ended", () => this.#tell("lost"), { signal });
  }

  async #another(deviceId) {
    try {
      return await openMicrophone(deviceId);
    } catch (error) {
      if (problemOf(error).kind !== "busy" || !this.#track) throw error;
      this.#track.stop(); // some phones open one at a time
      return openMicrophone(deviceId);
    }
  }

  async #hearOn(outputId) {
    await this.#context?.setSinkId?.(outputId ?? "");
  }

  #switch() {
    if (this.#track) this.#track.enabled = !this.#muted && !this.#script;
  }

  /** Browsers stop sound before a click, phones during a call and behind a locked screen. */
  #keepRunning(signal) {
    const context = this.#context;
    const wake = () => {
      if (context.state !== "running") context.resume().catch(() => {});
    };
    context.addEventListener("statechange", () => {
      this.#tell("state", { running: this.running });
      if (document.visibilityState === "visible") wake();
    }, { signal });
    for (const kind of ["visibilitychange", "pointerdown", "keydown"]) {
      document.addEventListener(kind, wake, { signal, capture: true });
    }
    wake();
  }

  #heard({ kind, ...detail }) {
    if (kind === "frame") {
      this.captured = detail.captured;
      this.onframe?.(detail.frame, detail.captured);
    } else if (kind === "played") {
      this.#tell("played", { ...detail, inputSamples: detail.inputSamples + this.#latency(detail) });
    } else {
      this.#tell(kind, detail);
    }
  }

  /**
   * What we have given away sounds a little later. Held for the length of a reply: the browser's
   * estimate wavers, and the wavering would pass for pauses. What the microphone needs to reach us
   * is left out, for no browser tells it: a reply is placed so much, 5 to 20 ms, too early.
   */
  #latency({ sequence, why }) {
    if (why === "first") this.#latencies.set(sequence, Math.round(this.outputLatency * WIRE_RATE));
    const latency = this.#latencies.get(sequence) ?? 0;
    if (why === "ended" || why === "flushed") this.#latencies.delete(sequence);
    return latency;
  }

  #tell(kind, detail = {}) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}

/** @param {number} [sampleRate] in Hz; the device's own if none is given, or it is refused */
function contextAt(sampleRate) {
  try {
    return new AudioContext({ latencyHint: "interactive", sampleRate });
  } catch {
    return new AudioContext({ latencyHint: "interactive" });
  }
}

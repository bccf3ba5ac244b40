/** A Sound without devices: a microphone that says what it is told, a loudspeaker that keeps time. */

const RATE = 24_000;
const FRAME = 960;
const REPORT_MS = 100;

export class FakeSound extends EventTarget {
  capture = { echo_cancellation: true, noise_suppression: true, auto_gain_control: "all", sample_rate: 48000, channel_count: 1, other: 1 };
  outputLatency = 0.01;
  captured = 0;
  onframe = null;
  calls = [];
  played = new Map(); // samples that sounded, by sequence
  told = []; // every report of it
  #said = []; // frames to be captured
  #whenSaid = () => {};
  #timer = 0;
  #last = 0;
  #voices = new Map();
  #reported = 0;

  async open(devices) {
    this.calls.push(["open", devices]);
    if (devices.deviceId === "denied") throw Object.assign(new Error("no"), { kind: "denied" });
    this.run();
  }

  run() {
    this.#last = performance.now();
    this.#timer = setInterval(() => this.#pass(), 10);
    return this;
  }

  async close() {
    this.calls.push(["close"]);
    clearInterval(this.#timer);
  }

  /** Noise that the stand-in ear takes for a voice. @returns {Promise<void>} once it was captured */
  say(seconds) {
    for (let count = 0; count < Math.round((seconds * RATE) / FRAME); count += 1) this.#said.push(VOICE);
    return new Promise((resolve) => (this.#whenSaid = resolve));
  }

  async choose(devices) {
    this.calls.push(["choose", devices]);
  }

  play(sequence, offset, samples) {
    const voice = this.#voices.get(sequence) ?? { heard: 0, received: 0, sounds: true };
    if (voice.flushed) return;
    if (offset !== voice.received) throw new Error(`expected ${voice.received}, got ${offset}`);
    voice.received = offset + samples.length;
    this.#voices.set(sequence, voice);
  }

  finish(sequence, total) {
    this.calls.push(["finish", sequence, total]);
    const voice = this.#voices.get(sequence);
    if (voice) voice.total = total;
  }

  hold(sequence) {
    this.calls.push(["hold", sequence]);
    this.#stop(sequence, "held", { sounds: false });
  }

  resume(sequence) {
    this.calls.push(["resume", sequence]);
    Object.assign(this.#voices.get(sequence) ?? {}, { sounds: true });
  }

  flush(sequence) {
    this.calls.push(["flush", sequence]);
    this.#stop(sequence, "flushed", { sounds: false, flushed: true });
  }

  #stop(sequence, why, change) {
    const voice = this.#voices.get(sequence);
    if (!voice || voice.flushed || voice.ended) return;
    Object.assign(voice, change);
    this.#tell(sequence, voice, why);
  }

  #pass() {
    const now = performance.now();
    const due = Math.floor(((now - this.#last) * RATE) / 1000 / FRAME);
    for (let count = 0; count < due; count += 1) {
      this.captured += FRAME;
      this.onframe?.(this.#said.shift() ?? new Int16Array(FRAME), this.captured);
    }
    if (!this.#said.length) this.#whenSaid();
    this.#last += (due * FRAME * 1000) / RATE;
    if (due) this.#sound(due * FRAME, now);
  }

  #sound(samples, now) {
    const current = [...this.#voices].find(([, voice]) => voice.sounds && !voice.ended);
    if (!current) return;
    const [sequence, voice] = current;
    const before = voice.heard;
    voice.heard = Math.min(voice.received, before + samples);
    if (!before && voice.heard) this.#tell(sequence, voice, "first");
    else if (voice.heard === voice.total) this.#end(sequence, voice);
    else if (now - this.#reported > REPORT_MS) {
      this.#reported = now;
      this.#tell(sequence, voice, "progress");
    }
  }

  #end(sequence, voice) {
    voice.ended = true;
    this.#tell(sequence, voice, "ended");
  }

  #tell(sequence, voice, why) {
    this.played.set(sequence, voice.heard);
    const detail = { sequence, samples: voice.heard, inputSamples: this.captured, why };
    this.told.push(detail);
    this.dispatchEvent(new CustomEvent("played", { detail }));
  }
}

const VOICE = Int16Array.from({ length: FRAME }, (_, place) => (hash(place) % 2 ? 9830 : -9830));

function hash(value) {
  let mixed = Math.imul(value + 1, 2654435761) >>> 0;
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 2246822519) >>> 0;
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** Microphone and loudspeaker in one processor: what is captured and what is played share a clock. */

import { Capturer } from "./capturer.js";
import { Meter } from "./meter.js";
import { Player } from "./player.js";
import { WIRE_RATE } from "./rates.js";

const LEVELS = 30; // a second

class Voice extends AudioWorkletProcessor {
  #frames = 0; // of the clock: samples in, samples out
  #toldAt = 0;
  #silence = new Float32Array(128);
  #closed = false;
  #input = new Meter();
  #output = new Meter();
  #capturer = new Capturer(sampleRate, (frame, captured) => {
    this.port.postMessage({ kind: "frame", frame, captured }, [frame.buffer]);
  });
  #player = new Player(sampleRate, ({ frame, ...told }) => {
    const inputSamples = Math.round((frame * WIRE_RATE) / sampleRate);
    const underruns = this.#player.underruns;
    this.port.postMessage({ kind: "played", ...told, inputSamples, underruns });
  });

  constructor() {
    super();
    this.port.onmessage = ({ data }) => this.#told(data);
  }

  process([[given]], [[out]]) {
    const captured = given ?? this.#silent(out.length);
    this.#capturer.take(captured);
    this.#player.render(out, this.#frames);
    this.#frames += out.length;
    this.#input.add(captured);
    this.#output.add(out);
    if (this.#frames - this.#toldAt >= sampleRate / LEVELS) {
      this.#toldAt = this.#frames;
      const [input, output] = [this.#input.read(), this.#output.read()];
      this.port.postMessage({ kind: "level", input, output });
    }
    return !this.#closed;
  }

  /** Without a microphone, time goes on all the same. */
  #silent(length) {
    if (this.#silence.length !== length) this.#silence = new Float32Array(length);
    return this.#silence;
  }

  #told({ kind, sequence, offset, pcm, total }) {
    if (kind === "play") this.#player.play(sequence, offset, pcm, this.#frames);
    else if (kind === "finish") this.#player.finish(sequence, total);
    else if (kind === "hold") this.#player.hold(sequence, this.#frames);
    else if (kind === "resume") this.#player.resume(sequence);
    else if (kind === "flush") this.#player.flush(sequence, this.#frames);
    else if (kind === "close") this.#closed = true;
  }
}

registerProcessor("attune-voice", Voice);

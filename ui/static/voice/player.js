/** Replies one after the other, without a click: what the loudspeaker plays. Pure. */

import { Jitter } from "./jitter.js";
import { WIRE_RATE } from "./rates.js";
import { Reply } from "./reply.js";

const FADE_SEC = 0.008;
const TELL_SEC = 0.19; // how often a reply that sounds tells how far it is
const STALLED_SEC = 0.25; // dry for longer, and it was the sender who had nothing to say

/**
 * @typedef {{sequence: number, samples: number, frame: number,
 *   why: "first"|"progress"|"dry"|"held"|"flushed"|"ended"}} Told
 */

/** Time is counted in frames: samples of the loudspeaker, which are also the microphone's. */
export class Player {
  underruns = 0;
  #rate;
  #fade;
  #tell;
  #jitter = new Jitter();
  #replies = []; // by sequence: the first is the one to be heard
  #over = new Set(); // sequences that may not sound any more
  #begun = -Infinity; // nor may any before this
  #gain = 0;
  #toldAt = 0;

  /** @param {number} rate of the loudspeaker @param {(told: Told) => void} tell */
  constructor(rate, tell) {
    this.#rate = rate;
    this.#fade = Math.round(rate * FADE_SEC);
    this.#tell = tell;
  }

  /** @param {number} frame when it arrived */
  play(sequence, offset, pcm, frame) {
    const reply = this.#find(sequence) ?? this.#add(sequence);
    if (!reply?.add(offset, pcm)) return;
    const now = frame / this.#rate;
    if (reply.waitsSince === null) this.#wetted(reply, frame, now);
    this.#jitter.arrived(offset / WIRE_RATE, now);
  }

  /** @param {number} total samples the reply has */
  finish(sequence, total) {
    this.#find(sequence)?.finish(total);
  }

  /** Be silent soon, and keep the rest. */
  hold(sequence, frame) {
    const reply = this.#find(sequence);
    if (!reply || reply.held) return;
    reply.held = true;
    if (!reply.flowing) this.#say(reply, frame, "held");
  }

  /** Go on where it fell silent. */
  resume(sequence) {
    const reply = this.#find(sequence);
    if (!reply?.held) return;
    reply.held = false;
    this.#jitter.begin();
  }

  /** Be silent soon, and for good. */
  flush(sequence, frame) {
    const reply = this.#find(sequence);
    if (!reply) {
      this.#over.add(sequence);
      return;
    }
    reply.stopping = true;
    if (!reply.flowing) this.#drop(reply, frame, "flushed");
  }

  /**
   * @param {Float32Array} out to be filled
   * @param {number} frame of its first sample
   */
  render(out, frame) {
    for (let at = 0; at < out.length; at += 1) out[at] = this.#sample(frame + at);
  }

  #sample(frame) {
    const reply = this.#current(frame);
    if (!reply) return 0;
    const goal = reply.held || reply.stopping || reply.waiting <= this.#fade ? 0 : 1;
    const step = 1 / this.#fade;
    this.#gain = goal ? Math.min(1, this.#gain + step) : Math.max(0, this.#gain - step);
    const sample = reply.next() * eased(this.#gain);
    this.#after(reply, frame + 1);
    return sample;
  }

  /** The reply that sounds now; null for silence. */
  #current(frame) {
    const reply = this.#replies[0];
    if (!reply) return null;
    if (reply.flowing) return reply;
    if (reply.complete && reply.waiting === 0) {
      this.#drop(reply, frame, "ended");
      return this.#current(frame);
    }
    if (reply.begun && (reply.held || reply.waiting === 0) && this.#replies[1]?.waiting) {
      this.#drop(reply, frame, "flushed"); // the server went on to the next without a word
      return this.#current(frame);
    }
    if (!this.#ready(reply, frame)) return null;
    reply.flowing = true;
    this.#gain = 0;
    this.#toldAt = frame;
    if (!reply.begun) this.#say(reply, frame, "first");
    reply.begun = true;
    this.#begun = reply.sequence;
    return reply;
  }

  #ready(reply, frame) {
    if (reply.held || reply.waiting === 0) return false;
    const enough = this.#jitter.target(frame / this.#rate) * this.#rate;
    return reply.complete || reply.waiting >= enough || frame - reply.waitsSince >= enough;
  }

  /** A sample was played: is that the end of it, for now or for good? */
  #after(reply, frame) {
    const silent = this.#gain === 0;
    if (reply.stopping && (silent || reply.waiting === 0)) {
      this.#drop(reply, frame, "flushed");
    } else if (reply.waiting === 0 && reply.complete) {
      this.#drop(reply, frame, "ended");
    } else if (reply.held && silent) {
      reply.flowing = false;
      this.#say(reply, frame, "held");
    } else if (reply.waiting === 0) {
      reply.flowing = false;
      reply.waitsSince = null;
      reply.driedAt = frame;
      this.#say(reply, frame, "dry");
    } else if (frame - this.#toldAt >= TELL_SEC * this.#rate) {
      this.#say(reply, frame, "progress");
    }
  }

  /** There is something to play again, or for the first time. */
  #wetted(reply, frame, now) {
    reply.waitsSince = frame;
    if (reply.driedAt === null) {
      this.#jitter.begin();
      return;
    }
    this.underruns += 1;
    if (frame - reply.driedAt < STALLED_SEC * this.#rate) this.#jitter.ranDry(now);
    reply.driedAt = null;
  }

  #say(reply, frame, why) {
    this.#toldAt = frame;
    this.#tell({ sequence: reply.sequence, samples: reply.played, frame, why });
  }

  #drop(reply, frame, why) {
    if (why === "flushed") reply.drop();
    this.#replies = this.#replies.filter((other) => other !== reply);
    this.#over.add(reply.sequence);
    this.#say(reply, frame, why);
  }

  #find(sequence) {
    return this.#replies.find((reply) => reply.sequence === sequence);
  }

  #add(sequence) {
    if (sequence < this.#begun || this.#over.has(sequence)) return undefined;
    for (const over of this.#over) if (over < this.#begun) this.#over.delete(over);
    const reply = new Reply(sequence, this.#rate);
    this.#replies.push(reply);
    this.#replies.sort((one, other) => one.sequence - other.sequence);
    return reply;
  }
}

function eased(gain) {
  return gain === 1 ? 1 : 0.5 - 0.5 * Math.cos(Math.PI * gain);
}

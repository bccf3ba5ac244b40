/** The replies' way to the loudspeaker, and what the server is told of it. */

const HEADER = 8; // bytes: the response's sequence and the sample at which the frame begins
const AUDIBLE = 184; // of 32,768: -45 dBFS
const KEPT = 16; // responses of which something may still be told

/**
 * @typedef {{responseId: string, itemId: string|null, sequence: number, received: number,
 *   onset: number|null}} Voice
 *   a response that sounds; `sequence` counts over all sessions of the visit, `onset` is the first
 *   sample one can hear
 */
export class Downlink {
  #sound;
  #tell;
  #happened;
  #voices = new Map(); // by response id
  #base = 0; // sequences of earlier sessions
  #newest = 0;
  #silenced = 0; // this sequence, and all before it, are not to be heard any more

  /**
   * @param {object} sound
   * @param {(voice: Voice, played: object) => void} tell the server what has sounded
   * @param {(event: object) => void} happened for the story
   */
  constructor(sound, tell, happened) {
    this.#sound = sound;
    this.#tell = tell;
    this.#happened = happened;
  }

  /** A new session: whatever the old one was saying is over. */
  begin() {
    this.hush();
    this.#voices.clear();
    this.#base = this.#newest;
  }

  /** What an event of the wire means for the sound. @param {object} event */
  follow(event) {
    const { type, response_id: responseId, response } = event;
    const voice = this.#voices.get(responseId ?? response?.id);
    if (type === "response.created") this.#created(response);
    else if (type === "input_audio_buffer.speech_started") this.hush();
    else if (type === "conversation.item.truncated") this.#flushItem(event.item_id);
    else if (!voice) return;
    else if (type === "response.output_item.added") voice.itemId = event.item.id;
    else if (type === "response.output_audio.done") this.#complete(voice);
    else if (type === "attune.hold") this.#sound.hold(voice.sequence);
    else if (type === "attune.resume") this.#sound.resume(voice.sequence);
    else if (type === "response.done" && response.status === "cancelled") this.#silence(voice.sequence);
  }

  /** Samples of a response that have come. */
  received(responseId) {
    return this.#voices.get(responseId)?.received ?? 0;
  }

  /**
   * @param {ArrayBuffer} frame
   * @param {number} at ms
   */
  audio(frame, at) {
    const head = new DataView(frame, 0, HEADER);
    const sequence = this.#base + head.getUint32(0, true);
    const begin = head.getUint32(4, true);
    const voice = this.#of(sequence);
    if (!voice || sequence <= this.#silenced) return;
    const known = Math.max(0, voice.received - begin); // of what is sent again after a cut
    const samples = new Int16Array(frame, HEADER).subarray(known);
    if (!samples.length) return;
    const offset = begin + known;
    voice.received = offset + samples.length;
    voice.onset ??= audible(offset, samples);
    const { responseId, received, onset } = voice;
    this.#happened({ type: "local.audio", responseId, received, onset, at });
    this.#sound.play(sequence, offset, samples);
  }

  /** Nothing that has come so far is to be heard any more. */
  hush() {
    for (const { sequence, received } of this.#voices.values()) {
      if (received) this.#silence(sequence);
    }
  }

  /**
   * What the loudspeaker did.
   *
   * @param {{sequence: number, samples: number, inputSamples: number, why: string}} played
   * @param {number} at ms
   */
  played(played, at) {
    const voice = this.#of(played.sequence);
    if (!voice) return;
    const { responseId } = voice;
    const { samples, why } = played;
    this.#tell(voice, played);
    const latency = 1000 * (this.#sound.outputLatency || 0);
    this.#happened({ type: "local.played", responseId, samples, why, at, latency });
  }

  #created({ id, attune }) {
    const sequence = this.#base + (attune?.sequence ?? 0);
    this.#newest = Math.max(this.#newest, sequence);
    for (const [old, voice] of this.#voices) if (voice.sequence < sequence - KEPT) this.#voices.delete(old);
    this.#voices.set(id, { responseId: id, itemId: null, sequence, received: 0, onset: null });
  }

  /** All of a response has come. */
  #complete({ sequence, received }) {
    if (received) this.#sound.finish(sequence, received);
  }

  #flushItem(itemId) {
    for (const voice of this.#voices.values()) {
      if (voice.itemId === itemId) this.#silence(voice.sequence);
    }
  }

  /** This response, and any before it, is not to be heard any more. */
  #silence(sequence) {
    const before = this.#silenced;
    if (sequence <= before) return;
    this.#silenced = sequence;
    for (const voice of this.#voices.values()) {
      if (voice.sequence > before && voice.sequence <= sequence) this.#sound.flush(voice.sequence);
    }
  }

  #of(sequence) {
    for (const voice of this.#voices.values()) if (voice.sequence === sequence) return voice;
    return null;
  }
}

function audible(offset, samples) {
  const first = samples.findIndex((sample) => Math.abs(sample) > AUDIBLE);
  return first < 0 ? null : offset + first;
}

/** The devices people can choose from, and the microphone among them. */

import { SoundProblem } from "./problem.js";

const CONSTRAINTS = {
  channelCount: { ideal: 1 },
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
};

/**
 * @param {string|null} [deviceId] if it is not there any more, the default one is taken
 * @returns {Promise<MediaStreamTrack>}
 */
export async function openMicrophone(deviceId) {
  if (!navigator.mediaDevices?.getUserMedia) throw new SoundProblem("unsupported");
  const chosen = deviceId ? { deviceId: { ideal: deviceId } } : {};
  const audio = { ...CONSTRAINTS, ...chosen };
  const stream = await navigator.mediaDevices.getUserMedia({ audio });
  return stream.getAudioTracks()[0];
}

/** How the browser records, in the words of the wire; null where it does not say. */
export function captureOf(track) {
  const applied = track.getSettings();
  return {
    echo_cancellation: switched(applied.echoCancellation),
    noise_suppression: switched(applied.noiseSuppression),
    auto_gain_control: switched(applied.autoGainControl),
    sample_rate: applied.sampleRate ?? null,
    channel_count: applied.channelCount ?? null,
  };
}

/**
 * Without leave to use a microphone, browsers tell neither names nor how many there are.
 * @returns {Promise<{inputs: {id: string, label: string}[], outputs: {id: string, label: string}[]}>}
 */
export async function devices() {
  const found = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind) => found
    .filter((device) => device.kind === kind && device.deviceId)
    .map(({ deviceId, label }) => ({ id: deviceId, label }));
  const choosable = "setSinkId" in (globalThis.AudioContext?.prototype ?? {});
  return { inputs: of("audioinput"), outputs: choosable ? of("audiooutput") : [] };
}

/** Newer browsers say which kind of echo canceller it is. */
function switched(value) {
  return value === undefined ? null : Boolean(value);
}

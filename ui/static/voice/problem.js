/** What can be wrong with microphone and loudspeaker, in kinds that people can be told. */

const KINDS = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  PermissionDeniedError: "denied", // as older browsers call it
  NotFoundError: "missing",
  DevicesNotFoundError: "missing",
  OverconstrainedError: "missing",
  NotReadableError: "busy",
  TrackStartError: "busy",
  AbortError: "busy",
};

export class SoundProblem extends Error {
  /**
   * @param {"denied"|"missing"|"insecure"|"busy"|"unsupported"} kind
   * @param {unknown} [cause]
   */
  constructor(kind, cause) {
    super(kind, { cause });
    this.name = "SoundProblem";
    this.kind = kind;
  }
}

/** @param {unknown} error whatever the browser threw @returns {SoundProblem} */
export function problemOf(error) {
  if (error instanceof SoundProblem) return error;
  return new SoundProblem(KINDS[error?.name] ?? "unsupported", error);
}

/** Throws the SoundProblem that would come anyway, before anybody is asked for anything. */
export function requireSound() {
  if (!globalThis.isSecureContext) throw new SoundProblem("insecure");
  if (!globalThis.AudioContext || !globalThis.AudioWorkletNode) throw new SoundProblem("unsupported");
}

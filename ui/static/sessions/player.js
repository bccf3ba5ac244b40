/** Plays stretches of a recording, fetched piece by piece while it plays. */

const PIECE = 20; // seconds fetched at a time
const AHEAD = 8; // seconds before the end of a piece at which the next is fetched
const FADE = 0.01; // seconds

/**
 * @param {{load: (start: number, end: number, channel: string, signal: AbortSignal) => Promise<ArrayBuffer>,
 *   rate: number, total: number, onChange: () => void, onProblem: (error: Error) => void}} given
 */
export function player({ load, rate, total, onChange, onProblem }) {
  let context = null;
  let run = null; // what plays now
  let rest = 0; // where the playhead rests when nothing does

  function position() {
    if (!run || run.began === null) return run ? run.from : rest;
    const elapsed = (context.currentTime - run.began) * rate;
    return Math.min(run.from + Math.max(elapsed, 0), run.to);
  }

  /** @param {{from: number, to?: number, channel?: "user" | "reply" | "both"}} what */
  async function play({ from, to = total, channel = "both" }) {
    stop();
    if (from >= to) return;
    context ??= new AudioContext({ sampleRate: rate }); // the recording's own: pieces fit seamlessly
    const mine = { from, to, channel, began: null, end: from, sources: [], ending: new AbortController() };
    run = mine;
    rest = from;
    onChange();
    try {
      await context.resume();
      while (run === mine && mine.end < to) {
        await piece(mine);
        const wait = mine.began + (mine.end - from) / rate - context.currentTime - AHEAD;
        if (mine.end < to && wait > 0) await pause(wait, mine.ending.signal);
      }
    } catch (error) {
      if (run !== mine || error.name === "AbortError") return;
      stop();
      onProblem(error);
    }
  }

  async function piece(mine) {
    const until = Math.min(mine.end + PIECE * rate, mine.to);
    const data = await load(Math.round(mine.end), Math.round(until), mine.channel, mine.ending.signal);
    if (run !== mine) return;
    const sound = await context.decodeAudioData(data);
    if (run !== mine) return;
    const gain = context.createGain();
    const source = new AudioBufferSourceNode(context, { buffer: sound });
    source.connect(gain).connect(context.destination);
    mine.began ??= context.currentTime + 0.03;
    const due = mine.began + (mine.end - mine.from) / rate;
    const late = context.currentTime - due; // the network was slow: the rest moves on
    if (late > 0) mine.began += late;
    source.start(Math.max(due, context.currentTime));
    mine.sources.push({ source, gain });
    mine.end = until;
    if (until < mine.to) return;
    source.addEventListener("ended", () => {
      if (run !== mine) return;
      rest = mine.to;
      run = null;
      onChange();
    }, { once: true });
  }

  function stop() {
    if (!run) return;
    rest = position();
    const ended = run;
    run = null;
    ended.ending.abort();
    for (const { source, gain } of ended.sources) {
      gain.gain.setTargetAtTime(0, context.currentTime, FADE / 3);
      source.stop(context.currentTime + FADE);
    }
    onChange();
  }

  return {
    play,
    stop,
    position,
    /** Move the playhead; what plays goes on from there. */
    seek(to) {
      const target = Math.min(Math.max(to, 0), total);
      if (run) play({ from: target, channel: run.to === total ? run.channel : "both" });
      else {
        rest = target;
        onChange();
      }
    },
    get playing() {
      return run !== null;
    },
    /** Whom one hears now: "user", "reply", "both", or nobody. */
    get channel() {
      return run?.channel ?? null;
    },
    close() {
      stop();
      context?.close();
      context = null;
    },
  };
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("stopped", "AbortError"));
    }, { once: true });
  });
}

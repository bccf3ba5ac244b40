/** What the figures say: pure, so that it can be trusted. */

export const KEPT_SEC = 300;
const LATE_MS = 100; // the event loop; sound is sent hardly more than that ahead
const LITTLE_GB = 2;

/**
 * In a word how the system is, and why.
 * @param {any} system as /api/system tells it
 * @returns {{level: "good" | "warn" | "bad", findings: {key: string, level: "warn" | "bad", values: Record<string, any>}[]}}
 */
export function verdict(system) {
  const findings = [...aboutModels(system), ...aboutRoom(system)];
  const level = findings.some((each) => each.level === "bad") ? "bad" : findings.length ? "warn" : "good";
  return { level, findings };
}

function aboutModels({ models }) {
  const found = [];
  for (const { role, state, failures } of models) {
    if (state === "unreachable" || state === "failing") found.push({ key: state, level: "bad", values: { role } });
    else if (state === "refusing") found.push({ key: state, level: "warn", values: { role } });
    else if (failures) found.push({ key: "failures", level: "warn", values: { role, count: failures } });
  }
  return found;
}

function aboutRoom({ seats, pressure, machine, recordings, conversations }) {
  const found = [];
  const without = pressure?.without.at(-1);
  if (without) found.push({ key: `without_${without}`, level: "warn", values: {} });
  if (seats.free === 0) found.push({ key: "full", level: "warn", values: { total: seats.total } });
  if ((machine.lag_p99_ms ?? 0) > LATE_MS) {
    found.push({ key: "late", level: "warn", values: { ms: Math.round(machine.lag_p99_ms) } });
  }
  if (conversations.failed) found.push({ key: "failed", level: "warn", values: { count: conversations.failed } });
  const stopped = Object.values(recordings.stopped).reduce((sum, each) => sum + each, 0);
  if (stopped) found.push({ key: "stopped", level: "warn", values: { count: stopped } });
  if (recordings.enabled && recordings.disk_free_gb !== null && recordings.disk_free_gb < LITTLE_GB) {
    found.push({ key: "disk", level: "warn", values: { gb: recordings.disk_free_gb } });
  }
  return found;
}

/** The lines of the last five minutes, from what the server remembers and each answer since. */
export class Series {
  constructor(names) {
    this.lines = Object.fromEntries(names.map((name) => [name, []]));
    this.step = 2;
  }

  /** Take what the server remembers. */
  remember(history) {
    this.step = history.step_sec;
    for (const name of Object.keys(this.lines)) this.lines[name] = [...history[name]];
    this.#forget();
  }

  push(values) {
    for (const name of Object.keys(this.lines)) this.lines[name].push(values[name]);
    this.#forget();
  }

  #forget() {
    const most = Math.floor(KEPT_SEC / this.step);
    for (const line of Object.values(this.lines)) line.splice(0, line.length - most);
  }
}

/** Points of a line in a box of 100 by 100, the newest at the right edge, zero at the bottom. */
export function points(values, { slots, least }) {
  const top = Math.max(least, ...values) || 1;
  const from = slots - values.length;
  return values.map((value, index) => [
    round((100 * (from + index)) / Math.max(1, slots - 1)),
    round(100 - (100 * value) / top),
  ]);
}

/** Where stages lie on one axis: from the earliest to the latest, zero always on it. */
export function axis(stages, which) {
  const known = stages.map((stage) => stage[which]).filter((each) => each.n > 0);
  const low = Math.min(0, ...known.map((each) => each.p50));
  const high = Math.max(100, ...known.map((each) => each.p99));
  const step = niceStep((high - low) / 5);
  const from = Math.floor(low / step) * step;
  const to = Math.ceil(high / step) * step;
  const marks = [];
  for (let mark = from; mark <= to + step / 1000; mark += step) marks.push(Math.round(mark * 1000) / 1000);
  return { from, to, marks, at: (ms) => round((100 * (ms - from)) / (to - from)) };
}

/** A round step, no smaller than asked. */
export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const fitting = [1, 2, 2.5, 5, 10].find((each) => each * power >= least * 0.9999);
  return fitting * power;
}

function round(value) {
  return Math.round(value * 100) / 100;
}

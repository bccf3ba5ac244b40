/** The stages between the end of speech and the answer in the ear, as spans of time. Pure. */

/**
 * @typedef {{stages: Record<string, number>, overhead?: number | null, heard?: number | null}} Timing
 *   ms after the end of speech
 * @typedef {{name: string, group: "hear" | "think" | "speak", start: number, end: number}} Span
 */

// A stage that is reached, what it could begin with (the latest of these), and whose work it is.
const ORDER = [
  { name: "decision", at: ["gate", "judged"], after: ["paused"], group: "hear" },
  { name: "words", at: ["words"], after: ["paused"], group: "hear" },
  { name: "percept", at: ["percept"], after: ["paused"], group: "hear" },
  { name: "first_token", at: ["first_token"], after: ["words", "planned"], group: "think" },
  { name: "first_clause", at: ["first_clause"], after: ["planned", "first_token"], group: "think" },
  { name: "first_audio", at: ["first_audio"], after: ["first_clause"], group: "speak" },
  { name: "sent", at: ["first_sent"], after: ["first_audio", "gate"], group: "speak" },
  { name: "heard", at: ["heard"], after: ["first_audio", "gate"], group: "speak" },
];

/**
 * What is known, in order; a stage nobody told of is left out. What was sent is told only where
 * nobody knows when it was heard.
 * @param {Timing} timing
 * @returns {Span[]}
 */
export function spans(timing) {
  const moments = { ...timing.stages };
  if (isMoment(timing.heard)) moments.heard = timing.heard;
  const known = ORDER.flatMap(({ name, at, after, group }) => {
    const end = at.map((stage) => moments[stage]).find(isMoment);
    if (end === undefined) return [];
    const begun = after.map((stage) => moments[stage]).filter((moment) => isMoment(moment) && moment <= end);
    const start = begun.length ? Math.max(...begun) : Math.min(0, end);
    return [{ name, group, start, end }];
  });
  return isMoment(moments.heard) ? known.filter(({ name }) => name !== "sent") : known;
}

/** When the answer was there: in the ear if that is known. @param {Timing | null} timing */
export function latency(timing) {
  const { heard, stages = {} } = timing ?? {};
  return [heard, stages.first_sent, stages.first_audio].find(isMoment) ?? null;
}

/** When it was decided that the turn was over. @param {Timing} timing */
export function decision(timing) {
  return [timing.stages?.gate, timing.stages?.judged].find(isMoment) ?? null;
}

/**
 * The axis: from where to where, and round marks on it.
 * @param {Span[]} known
 */
export function axis(known) {
  const low = Math.min(0, ...known.flatMap(({ start, end }) => [start, end]));
  const high = Math.max(100, ...known.map(({ end }) => end));
  const step = round((high - low) / 6);
  const from = Math.floor(low / step) * step;
  const to = Math.ceil((high * 1.02) / step) * step;
  const count = Math.round((to - from) / step);
  return { from, to, marks: Array.from({ length: count + 1 }, (_, index) => from + index * step) };
}

function round(about) {
  const power = 10 ** Math.floor(Math.log10(about));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= about);
}

function isMoment(value) {
  return typeof value === "number" && Number.isFinite(value);
}

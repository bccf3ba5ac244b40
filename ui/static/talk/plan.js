/** The plan of a reply in words people use: what was heard, and what is done about it. */

import { settings } from "../core/page.js";
import { PRIVATE } from "../percept/words.js";

const SLOWER = 0.97; // of the voice's own pace; above it nobody notices
const QUICKER = 1.03;
const MANNERS = 4; // more than these is no line any more
const TELLING = new Set(["address_child", "address_elder"]); // they give the age away

/**
 * @typedef {(key: string, values?: object) => string} Translate
 * @typedef {{heard: {dimension: string, name: string, sure: boolean}[], strategies: string[],
 *   said?: {emotion: string}, emotion: string, style?: {pace?: number}, line?: string}} Plan
 */

/**
 * @param {Plan} whole @param {Translate} t
 * @param {{showAgeGender?: boolean}} [options]
 * @returns {{heard: string, does: string}}
 */
export function planWords(whole, t, { showAgeGender = settings.show_age_gender } = {}) {
  const plan = showAgeGender ? whole : discreet(whole);
  const joined = (words) => words.filter(Boolean).join(t("talk.plan.comma"));
  const heard = (plan.heard ?? []).map(({ name, sure }) => {
    const word = named(t, `talk.plan.heard.${name}`, name);
    return sure ? word : t("talk.plan.perhaps", { what: word });
  });
  const mood = plan.said?.emotion ?? "neutral";
  if (mood !== "neutral" && !(plan.heard ?? []).some(({ name }) => name === mood)) {
    heard.push(t("talk.plan.words", { what: named(t, `talk.plan.heard.${mood}`, mood) }));
  }
  return {
    heard: joined(heard) || t("talk.plan.nothing"),
    does: joined(doings(plan, t).slice(0, MANNERS)) || t("talk.plan.answer"),
  };
}

/** The plan without anything that says how old or of which gender somebody sounds. */
function discreet(plan) {
  return {
    ...plan,
    heard: (plan.heard ?? []).filter(({ dimension }) => !PRIVATE.has(dimension)),
    strategies: (plan.strategies ?? []).filter((each) => !TELLING.has(each)),
  };
}

function doings(plan, t) {
  const pace = plan.style?.pace ?? 1;
  return [
    pace < SLOWER ? t("talk.plan.slower") : pace > QUICKER ? t("talk.plan.quicker") : "",
    named(t, `talk.plan.manner.${plan.emotion}`, ""),
    ...(plan.strategies ?? []).map((each) => named(t, `talk.plan.does.${each}`, each)),
  ].filter(Boolean);
}

/** A text that may be missing: new names come with new weights, and are shown as they are. */
function named(t, key, otherwise) {
  const text = t(key);
  return text === key ? otherwise.replaceAll("_", " ") : text;
}

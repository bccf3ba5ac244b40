/** What the server says about its pages, and the words and numbers of the page's language. */

const CHOSEN = "attune.language";

const asked = new URLSearchParams(location.search).get("lang") ?? remembered();
const answer = await fetch(`/page/settings.json${asked ? `?lang=${encodeURIComponent(asked)}` : ""}`);

/** See `ui/page_settings.py`. */
export const settings = await answer.json();
export const language = settings.language;
const LOCALES = { en: "en-GB", zh: "zh-CN" };
const locale = LOCALES[language] ?? language;
document.documentElement.lang = language;

/** A text by its name, with `{placeholders}` filled in. A name nobody knows shows itself. */
export function t(key, values = {}) {
  const text = settings.strings[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Whether there is a text of this name. */
export function has(key) {
  return key in settings.strings;
}

export function number(value, options = {}) {
  return new Intl.NumberFormat(locale, options).format(value);
}

/** A moment as people write it. @param {Date | string | number} moment */
export function when(moment, options = { dateStyle: "medium", timeStyle: "short" }) {
  return new Intl.DateTimeFormat(locale, options).format(new Date(moment));
}

/** Show the pages in another language from now on. */
export function speak(chosen) {
  localStorage.setItem(CHOSEN, chosen);
  const url = new URL(location.href);
  url.searchParams.delete("lang");
  location.assign(url);
}

function remembered() {
  try {
    return localStorage.getItem(CHOSEN);
  } catch {
    return null; // storage is forbidden here: the browser's language will do
  }
}

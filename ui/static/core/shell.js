/** What every page has: the name at the top, the way to the others, and words if it fails. */

import { operator, takeKey } from "./api.js";
import { h, replace } from "./dom.js";
import { asGuest } from "./entry.js";
import { language, settings, speak, t } from "./page.js";

const PAGES = [
  ["talk", "/"],
  ["compare", "/compare"],
  ["sessions", "/sessions"],
  ["scores", "/scores"],
  ["system", "/system"],
];
const OPERATORS = ["sessions", "scores", "system"];
const THEME = "__theme"; // Gradio reads it from the address

/** Called by Gradio once a page's component is there. */
export async function open(element, name) {
  const frame = element.querySelector(".attune") ?? element;
  if (frame.dataset.opened) return; // Gradio may load a component twice
  frame.dataset.opened = name;
  takeKey();
  const main = h("div", { class: `page page-${name}`, id: "main", tabindex: "-1" }); // Gradio has the <main>
  const top = settings.kiosk ? null : header(name);
  replace(frame, h("a", { class: "skip", href: "#main" }, t("shell.skip")), top, main);
  document.title = name === "talk" ? settings.name : `${t(`shell.pages.${name}`)} · ${settings.name}`;
  try {
    const page = await import(`../${name}/index.js`);
    if (OPERATORS.includes(name)) await page.mount(main);
    else await asGuest(main, () => page.mount(main));
  } catch {
    replace(main, h("p", { class: "card", role: "alert" }, t("shell.broken")));
  }
  frame.removeAttribute("aria-busy");
}

function header(current) {
  const links = shownTo(current).map(([name, path]) =>
    h("a", { href: kept(path), "aria-current": name === current ? "page" : null }, t(`shell.pages.${name}`)));
  return h("header", { class: "top" },
    h("a", { class: "brand", href: kept("/") }, mark(), h("span", {}, settings.name)),
    h("nav", { "aria-label": t("shell.navigation") }, links),
    h("div", { class: "top-end" }, operatorLink(current), languages(), themeButton()));
}

/** Whoever only came to talk is not shown what they cannot open. */
function shownTo(current) {
  const isOperator = operator.token || OPERATORS.includes(current);
  return PAGES.filter(([name]) => (name === "compare" ? settings.arena : isOperator || !OPERATORS.includes(name)));
}

function operatorLink(current) {
  if (operator.token || OPERATORS.includes(current)) return null;
  return h("a", { class: "button quiet small", href: kept("/sessions") }, t("shell.operator.link"));
}

function mark() {
  if (settings.logo) return h("img", { src: settings.logo, alt: "", class: "mark" });
  const drawn = h("span", { class: "mark", "aria-hidden": "true" });
  drawn.innerHTML =
    '<svg viewBox="0 0 32 32"><circle cx="16" cy="16" r="14.5" fill="none" stroke="currentColor" stroke-width="2" opacity=".35"/><path d="M7 16h2.5l2.2-6 3.6 13 3.4-9.5 1.7 2.5H25" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/></svg>';
  return drawn;
}

/** A theme or language chosen in the address goes along from page to page. */
function kept(path) {
  const given = new URLSearchParams(location.search);
  const along = new URLSearchParams([...given].filter(([name]) => name === THEME || name === "lang"));
  return along.size ? `${path}?${along}` : path;
}

function languages() {
  const others = settings.languages.filter((each) => each !== language);
  return others.map((each) =>
    h("button", { class: "button quiet small", lang: each, on: { click: () => speak(each) } },
      t(`shell.languages.${each}`)));
}

function themeButton() {
  const dark = document.body.classList.contains("dark");
  const change = () => {
    const url = new URL(location.href);
    url.searchParams.set(THEME, dark ? "light" : "dark");
    location.assign(url);
  };
  const label = t(dark ? "shell.theme.light" : "shell.theme.dark");
  return h("button", { class: "button quiet small icon", title: label, "aria-label": label, on: { click: change } },
    dark ? "☀" : "☾");
}

/** Which models are at work: to the byte, by whose leave, and whether they answer. */

import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { ms, named } from "./words.js";

/** @returns {{element: HTMLElement, show(models: any[]): void}} */
export function modelsTable() {
  let drawn = "";
  const list = h("div", { class: "models" });
  const element = h("section", { class: "card stack", "aria-labelledby": "models-title" },
    h("h2", { id: "models-title" }, t("system.models.title")), list);
  return {
    element,
    show(models) {
      const told = JSON.stringify(models.map((model) => ({ ...model, ms: null })));
      if (told === drawn) return tick(list, models);
      drawn = told;
      replace(list, models.map(model));
    },
  };
}

/** Only what changes every few seconds: whoever is reading keeps their place. */
function tick(list, models) {
  models.forEach(({ ms: took }, index) => {
    const place = list.children[index]?.querySelector(".took");
    if (place) place.textContent = took === null ? "" : ` · ${ms(took)}`;
  });
}

function model(found) {
  return h("article", { class: "model" },
    h("div", { class: "model-role" },
      h("h3", {}, named("system.role", found.role)),
      h("p", { class: "muted small" }, named("system.role_does", found.role))),
    h("div", { class: "model-what" },
      h("p", {}, h("strong", {}, found.backend), options(found)),
      h("p", { class: "muted small" }, found.version)),
    h("div", { class: "model-licences" }, licences(found)),
    h("div", { class: "model-state" }, state(found)),
    found.files.length ? files(found.files) : null);
}

/** Whatever its files are under, each once; one that restricts use comes first. */
function licences({ licence, files: all }) {
  const found = new Set([licence, ...all.map((file) => file.licence)].filter(Boolean));
  return [...found].map((each) => h("span", { class: each === licence ? "chip restricted" : "chip", title: each }, each));
}

function options({ options: given }) {
  const shown = ["model", "weights", "voice", "strength"].filter((name) => typeof given[name] === "string");
  return shown.map((name) => h("span", { class: "chip" }, given[name]));
}

function state({ state: how, where, host, ms: took, failures }) {
  const level = { ok: "good", off: "off", refusing: "warn", failing: "bad", unreachable: "bad" }[how];
  return [
    h("p", { class: `health ${level}` }, h("i", { "aria-hidden": "true" }, { good: "✓", off: "–", warn: "?", bad: "✗" }[level]),
      h("span", {}, t(`system.health.${how}`))),
    h("p", { class: "muted small" }, t(`system.where.${where}`, { host: host ?? "" }),
      h("span", { class: "took" }, took === null ? "" : ` · ${ms(took)}`)),
    failures ? h("p", { class: "complaint small" }, t("system.failures", { count: number(failures) })) : null,
  ];
}

function files(list) {
  return h("details", { class: "model-files" },
    h("summary", {}, t("system.models.files", { count: number(list.length) })),
    h("ul", {}, list.map(({ name, sha256, licence }) =>
      h("li", {},
        h("span", { class: "mono file-name" }, name),
        h("span", { class: "chip" }, licence ?? t("system.models.no_licence")),
        sha256 ? hash(sha256) : h("span", { class: "muted small" }, t("system.models.unhashed"))))));
}

function hash(sha256) {
  const said = h("span", { role: "status", class: "small good-words" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(sha256);
      said.textContent = t("system.models.copied");
    } catch {
      said.textContent = sha256; // no clipboard here: let it be selected
    }
    setTimeout(() => { if (said.textContent !== sha256) said.textContent = ""; }, 2000);
  };
  return h("span", { class: "hash" },
    h("button", { class: "button quiet small mono", type: "button", title: sha256,
      "aria-label": t("system.models.copy", { hash: sha256.slice(0, 12) }), on: { click: copy } },
      `sha256 ${sha256.slice(0, 12)}…`), said);
}

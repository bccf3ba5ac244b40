/** The operator's cockpit: how the system is, at a glance and in full. */

import { ApiError, api, asOperator, operator } from "../core/api.js";
import { h, replace, stylesheet } from "../core/dom.js";
import { t, when } from "../core/page.js";
import { coverage } from "./coverage.js";
import { modelsTable } from "./models.js";
import { whileSeen } from "./poll.js";
import { Series, verdict } from "./readings.js";
import { stageTimes } from "./stages.js";
import { tiles } from "./tiles.js";
import { lasting, named } from "./words.js";

const EVERY_MS = 2000;
const LINES = ["process_cpu", "machine_cpu", "memory_mb", "seats_taken", "lag_ms"];

/** @param {HTMLElement} element */
export async function mount(element) {
  await stylesheet(import.meta.url, "./system.css");
  await asOperator(element, () => show(element));
}

function show(element) {
  const series = new Series(LINES);
  const [top, stages, models] = [tiles(), stageTimes(), modelsTable()];
  const head = h("header", { class: "verdict" });
  const lost = h("p", { class: "lost", role: "alert", hidden: true });
  const hears = h("div", {});
  const page = h("div", { class: "stack system", "aria-busy": "true" },
    head, lost, top.element, stages.element, models.element, hears);
  let perceives = "";
  let said = "";
  replace(element, page);

  function update(system) {
    if (system.history) series.remember(system.history);
    else series.push({ ...system.machine, seats_taken: system.seats.taken });
    said = showVerdict(head, system, said);
    top.show(system, series);
    stages.show(system.stages);
    models.show(system.models);
    const told = JSON.stringify(system.perception);
    if (told !== perceives) replace(hears, coverage(system.perception));
    perceives = told;
    lost.hidden = true;
    page.removeAttribute("aria-busy");
    page.classList.remove("stale");
  }

  whileSeen(page, async (awake) => {
    try {
      update(await api(`/api/system?history=${awake}`, { token: operator.token }));
    } catch (error) {
      if (error instanceof ApiError && [401, 403].includes(error.status)) {
        asOperator(element, () => show(element));
        return false;
      }
      lost.textContent = t("system.lost", { why: error.message });
      lost.hidden = false;
      page.classList.add("stale");
    }
    return true;
  }, EVERY_MS);
}

/** The headline changes only when what it says does: it is read aloud. */
function showVerdict(head, system, said) {
  const { level, findings } = verdict(system);
  const { software } = system;
  const told = JSON.stringify([level, findings]);
  if (told !== said) {
    replace(head,
      h("div", { class: `verdict-words ${level}`, role: "status" },
        h("span", { class: "lamp", "aria-hidden": "true" }),
        h("div", {}, h("h1", {}, t(`system.verdict.${level}`)),
          findings.length ? h("ul", {}, findings.map(finding)) : null)),
      h("dl", { class: "facts" },
        fact("version", software.version), fact("profile", software.profile),
        fact("python", software.python), fact("started", when(software.started)),
        fact("uptime", lasting(software.uptime_sec)),
        system.machine.load_average && fact("load", "")));
  }
  const place = (name) => head.querySelector(`[data-fact="${name}"]`);
  place("uptime").textContent = lasting(software.uptime_sec);
  if (place("load")) place("load").textContent = system.machine.load_average.map((each) => each.toFixed(1)).join("  ");
  return told;
}

function finding({ key, level, values }) {
  const words = values.role ? { ...values, role: named("system.role", values.role) } : values;
  return h("li", { class: level }, t(`system.finding.${key}`, words));
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, t(`system.fact.${name}`)), h("dd", { dataset: { fact: name } }, value));
}

/** How to hand out what the list shows: a button, and the command that does the same. */

import { h, replace } from "../core/dom.js";
import { has, number, t } from "../core/page.js";
import { exportCommand } from "./filters.js";
import { handOut } from "./handing_out.js";

const NEVER = new Set(["recording", "broken", "deleted"]); // such sessions are not handed out
const FORMS = ["parquet", "wav", "hf", "echomind"];

export function exporting() {
  const command = h("code", { class: "command" });
  const form = h("select", { class: "field", id: "export-form" }, FORMS.map((each) => h("option", { value: each }, t(`sessions.export.${each}`))));
  const title = h("span", {});
  const copied = h("span", { class: "muted", role: "status" });
  const told = h("p", { class: "told", role: "status", "aria-live": "polite" });
  const begin = h("button", { type: "button", class: "button primary", on: { click: start } }, t("sessions.export.button"));
  const stop = h("button", { type: "button", class: "button", hidden: true, on: { click: () => going?.abort() } }, t("sessions.export.stop"));
  let sought = null;
  let going = null;
  const write = () => replace(command, sought ? exportCommand(sought, form.value) : "");

  async function start() {
    going = new AbortController();
    busy(true);
    say(t("sessions.export.starting"));
    try {
      const made = await handOut(sought, form.value, (progress) => say(inWords(progress)), going.signal);
      const inside = t("sessions.export.inside", { sessions: number(made.sessions), left: number(made.left_out) });
      say([t("sessions.export.ready", { name: made.name, size: size(made.bytes) }), " ", h("span", { class: "muted" }, inside)]);
    } catch (error) {
      if (going.signal.aborted) say(t("sessions.export.stopped"));
      else say(problem(error), "complaint");
    }
    going = null;
    busy(false);
  }

  function busy(is) {
    const focused = document.activeElement === begin || document.activeElement === stop;
    form.disabled = is;
    begin.hidden = is;
    stop.hidden = !is;
    if (focused) (is ? stop : begin).focus();
  }

  function say(text, kind = "") {
    told.className = `told ${kind}`;
    replace(told, text);
  }

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      replace(copied, t("sessions.export.copied"));
    } catch {
      getSelection()?.selectAllChildren(command);
      replace(copied, t("sessions.export.copy_yourself"));
    }
  };
  form.addEventListener("change", write);
  const element = h("details", { class: "card export" }, h("summary", {}, title),
    h("div", { class: "stack" },
      h("p", { class: "muted" }, t("sessions.export.why")),
      h("div", { class: "row choice" }, h("label", { for: form.id }, t("sessions.export.form")), form, begin, stop),
      told,
      h("div", { class: "by-hand" },
        h("h3", {}, t("sessions.export.shell")),
        h("pre", {}, command),
        h("div", { class: "row" }, h("button", { type: "button", class: "button small", on: { click: copy } }, t("sessions.export.copy")), copied))));
  return {
    element,
    show(shown, total) {
      sought = shown;
      element.hidden = !going && (!total || NEVER.has(sought.values.state));
      replace(title, t(total === 1 ? "sessions.export.one" : "sessions.export.title", { total: number(total) }));
      replace(copied);
      write();
    },
  };
}

function inWords({ state, done, total }) {
  if (state === "packing") return t("sessions.export.packing");
  return done ? t("sessions.export.making", { done: number(done), total: number(total) }) : t("sessions.export.starting");
}

function problem({ code, message }) {
  const known = `sessions.export.${code}`;
  return has(known) ? t(known) : message;
}

function size(bytes) {
  const [unit, one] = bytes < 1e6 ? ["kilobyte", 1e3] : bytes < 1e9 ? ["megabyte", 1e6] : ["gigabyte", 1e9];
  return number(bytes / one, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: bytes < 1e6 ? 0 : 1 });
}

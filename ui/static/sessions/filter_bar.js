/** The filters above the list: the common ones at hand, the others behind a button. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { named } from "../percept/speaking.js";
import { EMOTIONS, narrowed, SCOPES, STATES } from "./filters.js";

const SOON = 350; // ms after the last key before it is asked
const MORE = ["model", "rating_min", "longer", "shorter", "latency_min_ms", "latency_max_ms", "tag", "speaker", "state"];

/**
 * @param {import("./filters.js").Sought} sought
 * @param {(sought: object) => void} onChange
 */
export function filterBar(sought, onChange) {
  const inputs = {};
  let timer = 0;

  const read = () => ({
    values: Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value)),
    consent: SCOPES.filter((scope) => scopes[scope].checked),
    deleted: deleted.checked,
  });
  const tell = () => {
    clearTimeout(timer);
    const valid = Object.values(inputs).every((input) => input.checkValidity());
    if (!valid) return;
    onChange(read());
    mark();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(tell, SOON);
  };

  const models = h("datalist", { id: "session-models" });
  const tags = h("datalist", { id: "session-tags" });
  const field = (name, attrs) => {
    inputs[name] = h("input", { id: `filter-${name}`, class: "field", value: sought.values[name] ?? "", on: { input: soon, change: tell }, ...attrs });
    return labelled(name, inputs[name]);
  };
  const amount = (name, attrs) => field(name, { type: "number", min: "0", step: "any", inputmode: "decimal", ...attrs });
  const choice = (name, options) => {
    inputs[name] = h("select", { id: `filter-${name}`, class: "field", on: { change: tell } },
      h("option", { value: "" }, t("sessions.filter.any")),
      options.map(([value, label]) => h("option", { value, selected: sought.values[name] === value }, label)));
    return labelled(name, inputs[name]);
  };
  const labelled = (name, input) =>
    h("div", { class: `filter filter-${name}` }, h("label", { for: input.id }, t(`sessions.filter.${name}`)), input);

  const scopes = Object.fromEntries(SCOPES.map((scope) =>
    [scope, h("input", { type: "checkbox", checked: sought.consent.includes(scope), on: { change: tell } })]));
  const deleted = h("input", { type: "checkbox", checked: sought.deleted, on: { change: tell } });
  const kept = h("fieldset", { class: "filter scopes" }, h("legend", {}, t("sessions.filter.consent")),
    SCOPES.map((scope) => h("label", { class: "pick" }, scopes[scope], h("span", {}, t(`sessions.scope.${scope}`)))));

  const first = [
    field("text", { type: "search", placeholder: t("sessions.filter.text_hint") }),
    field("since", { type: "date" }), field("until", { type: "date" }),
    choice("emotion", EMOTIONS.map((each) => [each, named("emotion", each)])),
    kept,
  ];
  const others = [
    field("model", { list: models.id }), field("tag", { list: tags.id }),
    amount("rating_min", { min: "1", max: "5", step: "0.1" }),
    amount("longer"), amount("shorter"), amount("latency_min_ms"), amount("latency_max_ms"),
    field("speaker", { placeholder: "spk_…" }),
    choice("state", STATES.map((each) => [each, t(`sessions.state.${each}`)])),
    h("div", { class: "filter filter-deleted" }, h("label", { class: "pick" }, deleted, h("span", {}, t("sessions.filter.deleted")))),
  ];
  const extra = h("div", { class: "filters more", id: "more-filters" }, others);
  extra.hidden = !MORE.some((name) => sought.values[name]) && !sought.deleted;
  const open = () => {
    extra.hidden = !extra.hidden;
    more.setAttribute("aria-expanded", String(!extra.hidden));
    element.classList.toggle("open", !extra.hidden);
  };
  const badge = h("span", { class: "badge" });
  const more = h("button", {
    type: "button", class: "button quiet small", "aria-expanded": String(!extra.hidden), "aria-controls": extra.id,
    on: { click: open },
  }, t("sessions.filter.more"), badge);
  const wipe = h("button", { type: "button", class: "button quiet small", on: { click: () => { clear(); tell(); } } }, t("sessions.filter.clear"));

  function mark() {
    const set = read();
    const hidden = MORE.filter((name) => set.values[name]).length + (set.deleted ? 1 : 0);
    badge.textContent = hidden ? String(hidden) : "";
    badge.hidden = !hidden;
    wipe.hidden = !narrowed(set);
  }

  function clear() {
    for (const input of Object.values(inputs)) input.value = "";
    for (const box of [...Object.values(scopes), deleted]) box.checked = false;
    mark();
  }

  mark();
  const element = h("form", {
    class: `card filter-card ${extra.hidden ? "" : "open"}`, role: "search", "aria-label": t("sessions.filter.title"),
    on: { submit: (event) => { event.preventDefault(); tell(); } },
  }, h("div", { class: "filters" }, first), extra, h("div", { class: "row filter-foot" }, more, wipe), models, tags);
  return {
    element,
    clear,
    /** Offer what the rows that are shown have. */
    suggest(rows) {
      const offer = (list, values) => replace(list, [...new Set(values)].filter(Boolean).sort().map((value) => h("option", { value })));
      offer(models, rows.flatMap(({ responder, voice, perceiver }) => [responder, voice, perceiver]));
      offer(tags, rows.flatMap((row) => row.tags));
    },
  };
}

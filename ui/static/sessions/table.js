/** Sessions as rows; on a phone, as cards. */

import { h } from "../core/dom.js";
import { number, t, when } from "../core/page.js";
import { named } from "../percept/speaking.js";
import { told } from "../waterfall/waterfall.js";
import { COLUMN_ORDERS, reordered, SCOPES, sortedAs } from "./filters.js";
import { clock } from "./scale.js";

const COLUMNS = ["began", "length", "turns", "kept", "model", "emotion", "latency", "rating", "tags"];
const NUMERIC = new Set(["length", "turns", "latency", "rating"]);

/**
 * @param {object[]} rows as the server lists them
 * @param {string} order
 * @param {{open: (id: string) => void, order: (order: string) => void}} means
 */
export function table(rows, order, means) {
  return h("div", { class: "card table-card" },
    h("table", { class: "session-table" },
      h("caption", { class: "sr-only" }, t("sessions.title")),
      h("thead", {}, h("tr", {}, COLUMNS.map((column) => head(column, order, means)))),
      h("tbody", {}, rows.map((row) => line(row, means)))));
}

function head(column, order, means) {
  const label = t(`sessions.column.${column}`);
  const attrs = { scope: "col", class: NUMERIC.has(column) ? "numeric" : null, "aria-sort": sortedAs(column, order) };
  if (!COLUMN_ORDERS[column]) return h("th", attrs, label);
  return h("th", attrs, h("button", { type: "button", class: "sort", on: { click: () => means.order(reordered(column, order)) } },
    label, h("span", { class: "arrow", "aria-hidden": "true" })));
}

function line(row, { open }) {
  const address = new URL(location.href);
  address.searchParams.set("id", row.id);
  const follow = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // a tab of its own
    event.preventDefault();
    open(row.id);
  };
  const link = h("a", { href: address.href, on: { click: follow } }, when(row.started));
  const click = (event) => {
    if (!event.target.closest("a, button") && !getSelection()?.toString()) open(row.id);
  };
  const cells = { ...facts(row), began: [link, state(row.state)] };
  return h("tr", { class: `is-${row.state}`, on: { click } }, COLUMNS.map((column) =>
    h("td", { class: NUMERIC.has(column) ? "numeric" : null, dataset: { column, label: t(`sessions.column.${column}`), empty: String(!filled(cells[column])) } },
      cells[column] ?? null)));
}

function filled(cell) {
  return Array.isArray(cell) ? cell.some(Boolean) : cell !== null && cell !== undefined && cell !== "";
}

function facts(row) {
  if (row.state === "deleted" || row.state === "broken") return {};
  const live = row.state === "recording";
  return {
    length: row.seconds === null ? null : clock(row.seconds),
    turns: live ? null : [number(row.turns), row.interruptions ? cutOff(row.interruptions) : null],
    kept: live ? null : scopes(row),
    model: row.responder,
    emotion: row.emotion ? named("emotion", row.emotion) : null,
    latency: row.latency_p50_ms === null ? null : told(row.latency_p50_ms),
    rating: row.rating === null ? null : stars(row),
    tags: row.tags.map((tag) => h("span", { class: "chip" }, tag)),
  };
}

function cutOff(times) {
  const label = t("sessions.interrupted", { n: number(times) });
  return h("span", { class: "cut-count", title: label, "aria-label": label }, ` ✂${number(times)}`);
}

function stars({ rating, user_ratings: users, expert_ratings: experts }) {
  const title = t("sessions.ratings.by", { users: number(users), experts: number(experts) });
  return h("span", { title }, `${number(rating, { maximumFractionDigits: 1, minimumFractionDigits: 1 })} ★`);
}

/** What may be kept, each in a word. */
export function scopes(row) {
  const held = SCOPES.filter((scope) => row[scope]);
  if (!held.length) return h("span", { class: "muted" }, t("sessions.scope.none"));
  return h("span", { class: "scopes-held" }, held.map((scope) => h("span", { class: `scope ${scope}` }, t(`sessions.scope.${scope}`))));
}

/** The state, where it is not simply over. */
export function state(name) {
  if (name === "finished") return null;
  return h("span", { class: `chip state state-${name}` }, name === "recording" ? h("i", { class: "pulse", "aria-hidden": "true" }) : null, t(`sessions.state.${name}`));
}

/** What is sought, as it stands in the address, is asked of the server, and is typed as a command. */

export const PAGE = 50; // rows

/** Every filter by its name in the address, which is also its name in the API. */
export const FILTERS = [
  "since", "until", "model", "emotion", "rating_min", "longer", "shorter",
  "latency_min_ms", "latency_max_ms", "tag", "text", "speaker", "state",
];
export const SCOPES = ["transcript", "audio", "research"];
export const ORDERS = ["newest", "oldest", "longest", "shortest", "slowest", "fastest", "best", "worst"];
export const STATES = ["recording", "finished", "repaired", "broken", "deleted"];
export const EMOTIONS = ["happy", "sad", "angry", "fear", "disgust", "surprise", "neutral"];

const OPTIONS = {
  since: "--since", until: "--until", model: "--model", emotion: "--emotion", rating_min: "--rating",
  longer: "--longer", shorter: "--shorter", latency_min_ms: "--slower", latency_max_ms: "--faster",
  tag: "--tag", text: "--notes", speaker: "--speaker",
};

/**
 * @typedef {{values: Record<string, string>, consent: string[], deleted: boolean, order: string, page: number}} Sought
 */

/** @param {string} search @returns {Sought} */
export function fromAddress(search) {
  const given = new URLSearchParams(search);
  const values = {};
  for (const name of FILTERS) {
    const value = given.get(name)?.trim();
    if (value) values[name] = value;
  }
  const order = given.get("order");
  return {
    values,
    consent: SCOPES.filter((scope) => given.getAll("consent").includes(scope)),
    deleted: given.get("deleted") === "true",
    order: ORDERS.includes(order) ? order : "newest",
    page: Math.max(1, Math.trunc(Number(given.get("page"))) || 1),
  };
}

/** The address of this view; what does not belong to it, such as a theme, stays. */
export function toAddress(sought, search = "") {
  const told = new URLSearchParams(search);
  for (const name of [...FILTERS, "consent", "deleted", "order", "page", "id"]) told.delete(name);
  for (const [name, value] of narrowing(sought)) told.append(name, value);
  if (sought.order !== "newest") told.set("order", sought.order);
  if (sought.page > 1) told.set("page", String(sought.page));
  const query = told.toString();
  return query ? `?${query}` : "";
}

/** The address of one session. */
export function toSession(id, search = "") {
  const told = new URLSearchParams(search);
  told.set("id", id);
  return `?${told}`;
}

/** What the API is asked for. */
export function toQuery(sought) {
  const told = new URLSearchParams(narrowing(sought));
  told.set("order", sought.order);
  told.set("limit", String(PAGE));
  told.set("offset", String((sought.page - 1) * PAGE));
  return told.toString();
}

/** How many filters are set. */
export function narrowed(sought) {
  return narrowing(sought).length;
}

/**
 * The command that exports what is sought, to be pasted into a shell.
 * @param {Sought} sought
 * @param {string} form
 */
export function exportCommand(sought, form = "parquet") {
  const words = ["python -m server.sessions export", `--format ${form}`, "--out EXPORT"];
  for (const [name, value] of Object.entries(sought.values)) {
    if (name in OPTIONS) words.push(`${OPTIONS[name]} ${quoted(value)}`);
  }
  if (sought.consent.length) words.push(`--consent ${sought.consent.join(",")}`);
  return words.join(" ");
}

/** The orders a column offers, the first click's first. */
export const COLUMN_ORDERS = {
  began: ["newest", "oldest"],
  length: ["longest", "shortest"],
  latency: ["slowest", "fastest"],
  rating: ["best", "worst"],
};

/** What a click on a column's head makes of the order. */
export function reordered(column, order) {
  const offered = COLUMN_ORDERS[column];
  const next = offered.indexOf(order) + 1;
  return offered[next] ?? (offered.length > 1 ? offered[0] : "newest");
}

/** `aria-sort` of a column. */
export function sortedAs(column, order) {
  if (!COLUMN_ORDERS[column]?.includes(order)) return null;
  return ["newest", "longest", "slowest", "best"].includes(order) ? "descending" : "ascending";
}

function narrowing({ values, consent, deleted }) {
  const told = Object.entries(values);
  for (const scope of consent) told.push(["consent", scope]);
  if (deleted) told.push(["deleted", "true"]);
  return told;
}

function quoted(value) {
  return /^[\w.:-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

/** The HTTP API, and the operator's key to it. */

import { h, replace } from "./dom.js";
import { t } from "./page.js";

const KEPT = "attune.operator";
const CODE = "attune.access";

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {{method?: string, json?: any, body?: any, headers?: Record<string, string>,
 *   token?: string | null, raw?: boolean, signal?: AbortSignal, keepalive?: boolean}} [options]
 *   `raw`: the response itself.
 */
export async function api(path, options = {}) {
  const { json, token, raw, headers = {}, body, ...rest } = options;
  const given = { ...headers };
  if (token) given.Authorization = `Bearer ${token}`;
  if (json !== undefined) given["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      ...rest,
      headers: given,
      body: json === undefined ? body : JSON.stringify(json),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", t("shell.unreachable"));
  }
  if (!response.ok) throw await problem(response);
  if (raw) return response;
  return response.status === 204 ? null : response.json();
}

async function problem(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, "unknown", t("shell.failed", { status: response.status }));
  }
}

/** The operator's key, until the browser's tab is closed. */
export const operator = {
  get token() {
    return stored(KEPT);
  },
  set token(token) {
    store(KEPT, token);
  },
};

function stored(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

function store(name, value) {
  if (value) sessionStorage.setItem(name, value);
  else sessionStorage.removeItem(name);
}

/** The code of whoever came to talk, until the tab is closed; an operator needs no other. */
export const guest = {
  get token() {
    return operator.token ?? stored(CODE);
  },
  set token(token) {
    store(CODE, token);
  },
};

/** A key or a code that came in the address is kept, and taken out of it. */
export function takeKey() {
  const given = new URLSearchParams(location.hash.slice(1));
  const [key, code] = [given.get("operator"), given.get("access")];
  if (!key && !code) return;
  if (key) operator.token = key;
  if (code) guest.token = code;
  history.replaceState(history.state, "", location.pathname + location.search);
}

/**
 * Ask for the operator's key until one opens the door, then show what is behind it.
 * @param {HTMLElement} element
 * @param {() => any} show
 */
export async function asOperator(element, show) {
  try {
    await api("/api/sessions?limit=1", { token: operator.token });
  } catch (error) {
    const closed = error instanceof ApiError && [401, 403, 429].includes(error.status);
    signIn(element, show, closed && (!operator.token || error.status === 403) ? null : error, error);
    return;
  }
  await show();
}

function signIn(element, show, complaint, error) {
  const unset = error.code === "no_operator_token";
  const key = h("input", {
    type: "password", id: "operator-key", class: "field", autocomplete: "current-password",
    required: true, "aria-describedby": "operator-why",
  });
  const enter = (event) => {
    event.preventDefault();
    operator.token = key.value.trim();
    asOperator(element, show);
  };
  const form = h("form", { class: "stack", on: { submit: enter } },
    h("label", { for: "operator-key" }, t("shell.operator.key")), key,
    h("button", { class: "button primary" }, t("shell.operator.enter")));
  const again = h("button", { class: "button", on: { click: () => asOperator(element, show) } }, t("shell.again"));
  replace(element, h("section", { class: "card sign-in stack" },
    h("h1", {}, t("shell.operator.title")),
    h("p", { id: "operator-why", class: "muted" }, t(unset ? "shell.operator.unset" : "shell.operator.why")),
    complaint && h("p", { class: "complaint", role: "alert" }, complaint.message),
    unset ? null : error.status === 0 || error.status >= 500 ? again : form));
  if (!unset) key.focus();
}

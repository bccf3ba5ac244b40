/** A server that asks for an access code: entered once for a tab, and turned into short-lived keys. */

import { api, ApiError, guest, operator } from "./api.js";
import { h, replace } from "./dom.js";
import { settings, t } from "./page.js";

const KEY = "openai-insecure-api-key."; // how Realtime clients in browsers show a key

/**
 * Ask for the access code until one opens the door, then show what is behind it.
 * @param {HTMLElement} element
 * @param {() => any} show
 */
export async function asGuest(element, show) {
  if (!settings.asks_for_tokens) return show();
  if (!guest.token) return ask(element, show, null);
  try {
    await clientSecret();
  } catch (error) {
    return ask(element, show, error);
  }
  return show();
}

/** The sub-protocols with which a socket opens here. @returns {Promise<string[]>} */
export async function protocols() {
  return settings.asks_for_tokens ? ["realtime", KEY + (await clientSecret())] : [];
}

async function clientSecret() {
  try {
    const made = await api("/v1/realtime/client_secrets", { method: "POST", json: {}, token: guest.token });
    return made.value;
  } catch (error) {
    if (isWrong(error) && !operator.token) guest.token = null; // whoever reloads is asked again
    throw error;
  }
}

function ask(element, show, error) {
  const complaint = error && (isWrong(error) ? t("shell.access.wrong") : error.message);
  const code = h("input", {
    type: "password", id: "access-code", class: "field", autocomplete: "current-password", required: true,
    "aria-describedby": complaint ? "access-why access-complaint" : "access-why",
  });
  const enter = (event) => {
    event.preventDefault();
    operator.token = null; // if there was a key, it did not open this door
    guest.token = code.value.trim();
    asGuest(element, show);
  };
  replace(element, h("section", { class: "card sign-in stack" },
    h("h1", {}, t("shell.access.title")),
    h("p", { id: "access-why", class: "muted" }, t("shell.access.why")),
    complaint && h("p", { class: "complaint", id: "access-complaint", role: "alert" }, complaint),
    h("form", { class: "stack", on: { submit: enter } },
      h("label", { for: "access-code" }, t("shell.access.code")), code,
      h("button", { class: "button primary" }, t("shell.access.enter")))));
  code.focus();
}

function isWrong(error) {
  return error instanceof ApiError && error.status === 401;
}

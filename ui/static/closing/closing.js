/** The end of a conversation: thanks, what was kept, and everything one can do about it. */

import { h, replace, stylesheet } from "../core/dom.js";
import { number, settings, t } from "../core/page.js";
import { rateConversation } from "../rate/rate.js";
import { confirmed } from "./confirm.js";
import { download, erase, lookUp, scopesOf, secondsOf, stoppedBy, withdraw } from "./keep.js";
import { keyCard } from "./key_card.js";

stylesheet(import.meta.url, "./closing.css");

/**
 * @param {{sessions: {id: string, secret: string}[], recording?: {reason: string | null} | null,
 *   onAgain?: () => void, later?: boolean, signal?: AbortSignal}} options `later`: somebody came
 *   back with a key; `signal` fires when the panel is no longer shown
 * @returns {HTMLElement}
 */
export function closingPanel({ sessions, recording = null, onAgain, later = false, signal }) {
  const told = h("div", { class: "stack told", "aria-live": "polite" });
  const rating = h("div");
  const again = onAgain && h("button", { type: "button", class: "button primary again", on: { click: onAgain } }, t("closing.again"));
  const element = h("section", { class: "closing stack", "aria-label": t("closing.title") },
    h("header", {}, h("h1", { tabindex: "-1" }, t(later ? "closing.back" : "closing.title")), again),
    h("div", { class: "closing-cards" }, h("div", { class: "card" }, told), rating));
  look();

  async function look(outcome = null) {
    replace(told, h("p", { class: "muted" }, t("closing.looking")));
    try {
      show(await lookUp(sessions), outcome);
    } catch (error) {
      const retry = h("button", { type: "button", class: "button", on: { click: () => look(outcome) } }, t("closing.retry"));
      replace(told, h("p", { class: "complaint", role: "alert" }, error.message), retry);
    }
  }

  function show(kept, outcome) {
    replace(told, h("h2", {}, t("closing.kept")), outcome, kept.length ? holding(kept, look) : nothing(outcome, recording));
    ask(kept.at(-1));
  }

  /** Asked anew only if words may no longer be kept. */
  function ask(last) {
    const words = last?.scopes.some((scope) => scope !== "research") ? "words" : "scores";
    const asked = last && words;
    if (rating.dataset.asked === asked) return;
    rating.dataset.asked = asked ?? "";
    replace(rating, last && h("div", { class: "card stack" },
      h("h2", {}, t("closing.rate")),
      rateConversation({
        sessionId: last.session.id, secret: last.session.secret, allowWords: words === "words", signal,
      })));
  }

  return element;
}

function nothing(outcome, recording) {
  if (outcome) return null;
  return h("p", {}, t(recording?.reason === "deleted" ? "closing.deleted" : "closing.nothing"));
}

/** What there is, each with the way to be rid of it. */
function holding(kept, look) {
  const scopes = scopesOf(kept);
  const why = stoppedBy(kept);
  const personal = scopes.includes("transcript") || scopes.includes("audio");
  const takeable = personal && !settings.kiosk; // on a screen for everybody it would stay behind
  return [
    why && h("p", { class: "notice" }, t(why === "child" ? "closing.child" : "closing.broke_off")),
    personal
      ? h("ul", { class: "kept" }, scopes.map((scope) => held(scope, kept, look)))
      : h("p", {}, t("closing.timings")),
    takeable && h("div", { class: "row" },
      scopes.includes("audio") && getter("audio", kept), getter("events", kept)),
    takeable && keyCard(kept.map(({ session }) => session)),
    confirmed({
      label: t("closing.delete"), question: t("closing.delete_ask"), yes: t("closing.delete_yes"), danger: true,
      act: async () => look(removal(await erase(kept), "closing.deleted")),
    }),
  ];
}

function held(scope, kept, look) {
  const length = scope === "audio" && secondsOf(kept) > 0 ? minutes(secondsOf(kept)) : null;
  return h("li", {},
    h("div", {}, h("strong", {}, t(`closing.scope.${scope}`)), length && h("span", { class: "muted" }, ` ${length}`),
      h("p", { class: "muted small" }, t(`closing.scope.${scope}_note`))),
    confirmed({
      label: t("closing.withdraw"), question: t(`closing.withdraw_ask.${scope}`), yes: t("closing.withdraw_yes"),
      act: async () => look(removal(await withdraw(kept, scope), "closing.withdrawn")),
    }));
}

function minutes(seconds) {
  const [whole, rest] = [Math.floor(seconds / 60), Math.round(seconds % 60)];
  return t("closing.length", { minutes: number(whole), seconds: String(rest).padStart(2, "0") });
}

function getter(what, kept) {
  const problem = h("span", { class: "complaint small", role: "alert" });
  const chosen = what === "audio" ? kept.filter(({ file }) => file.audio) : kept;
  const button = h("button", { type: "button", class: "button" }, t(`closing.download.${what}`));
  button.addEventListener("click", async () => {
    button.disabled = true;
    problem.textContent = "";
    try {
      await download(chosen, what);
    } catch (error) {
      problem.textContent = error.message;
    }
    button.disabled = false;
  });
  return chosen.length ? [button, problem] : null;
}

/** What went, and what nobody can take back. */
function removal({ removed, exports, left, putOff }, done) {
  return h("div", { class: "removal stack", role: "status" },
    h("p", {}, h("strong", {}, t(putOff ? "closing.put_off" : done))),
    removed.length > 0 && h("p", { class: "small" }, t("closing.removed", { what: removed.join(t("closing.comma")) })),
    exports.length > 0 && h("p", { class: "small" }, t("closing.exports", { what: exports.join(t("closing.comma")) })),
    left.length > 0 && h("p", { class: "small" }, t("closing.left", { what: left.join(t("closing.comma")) })));
}

/** What a session was: when, how long, with which models, and what may be kept of it. */

import { h } from "../core/dom.js";
import { number, t, when } from "../core/page.js";
import { told as milliseconds } from "../waterfall/waterfall.js";
import { clock } from "./scale.js";
import { scopes, state } from "./table.js";

const ROLES = ["vad", "turn", "transcriber", "perceiver", "responder", "speaker"];

/** @param {{session: object, summary: object, ratings: object[]}} told */
export function aboutSession({ session, summary }) {
  const title = h("div", { class: "row about-title" }, h("h1", {}, when(session.started, { dateStyle: "full", timeStyle: "short" })), state(session.state));
  const name = h("p", { class: "mono muted session-id" }, session.id);
  if (session.state === "deleted") {
    return h("header", { class: "about stack" }, title, name,
      h("section", { class: "card tomb stack" }, h("h2", {}, t("sessions.tomb.title")), h("p", {}, t("sessions.tomb.why")), stones(session)));
  }
  return h("header", { class: "about stack" }, h("div", {}, title, name),
    h("dl", { class: "facts card" },
      fact("length", summary.seconds === null ? null : clock(summary.seconds)),
      fact("turns", turns(session, summary)),
      fact("latency", latency(summary)),
      fact("kept", session.state === "recording" ? null : scopes(summary)),
      fact("ended", session.ended && t(`sessions.ended.${session.ended.why}`)),
      fact("speaker", session.speaker && h("span", { class: "mono" }, session.speaker)),
      fact("replay", session.replay_of && h("a", { href: `?id=${session.replay_of}`, class: "mono" }, session.replay_of)),
      fact("models", models(session))),
    broken(session), stones(session));
}

function fact(name, value) {
  if (value === null || value === undefined || value === "") return null;
  return h("div", { class: `fact fact-${name}` }, h("dt", {}, t(`sessions.fact.${name}`)), h("dd", {}, value));
}

function turns(session, { turns: said, replies, interruptions }) {
  if (session.state === "recording") return null;
  const told = t("sessions.turns", { turns: number(said), replies: number(replies) });
  return interruptions ? `${told}, ${t("sessions.interrupted", { n: number(interruptions) })}` : told;
}

function latency({ latency_p50_ms: half, latency_p95_ms: most }) {
  if (half === null) return null;
  return t("sessions.latency", { half: milliseconds(half), most: milliseconds(most) });
}

function models({ models: used, profile }) {
  const known = [...ROLES.filter((role) => role in used), ...Object.keys(used).filter((role) => !ROLES.includes(role))];
  const main = ["responder", "speaker", "perceiver"].flatMap((role) => used[role]?.backend ?? []);
  return h("details", { class: "models" },
    h("summary", {}, [profile, main.join(" · ")].filter(Boolean).join(": ")),
    h("table", {}, h("tbody", {}, known.map((role) => {
      const { backend, version, files, licence } = used[role];
      const licences = [...new Set([licence, ...files.map((file) => file.licence)].filter(Boolean))];
      const name = t(`sessions.role.${role}`);
      return h("tr", {}, h("th", { scope: "row" }, name === `sessions.role.${role}` ? role : name),
        h("td", {}, [backend, version].filter(Boolean).join(" ")), h("td", { class: "muted" }, licences.join(", ")));
    }))));
}

/** Where recording broke off. */
function broken({ stopped, started }) {
  return stopped.map(({ at, reason }) => h("p", { class: "notice warn" },
    t("sessions.stopped", { time: clock(at / 24000), why: t(`sessions.stop.${reason}`), started })));
}

/** What was erased, when and why. */
function stones({ tombstones }) {
  if (!tombstones.length) return null;
  return h("ul", { class: "stones" }, tombstones.map(({ wall, what, why, exports: copies }) =>
    h("li", { class: "notice" },
      t("sessions.tomb.line", { when: when(wall), what: what.map((each) => t(`sessions.what.${each}`)).join(t("percept.comma")), why: t(`sessions.tomb.${why}`) }),
      copies.length ? h("p", {}, t("sessions.tomb.copies", { copies: copies.join(", ") })) : null)));
}

/** Whether anything is being kept, always true, with the way to stop it. */

import { confirmed } from "../closing/confirm.js";
import { h, replace } from "../core/dom.js";
import { has, settings, t } from "../core/page.js";

/**
 * What is kept, in words; empty if nothing is.
 * @param {{recording: boolean, scopes: string[]} | null} recording
 * @param {(key: string) => string} say
 */
export function keptWords(recording, say = t) {
  if (!recording?.recording) return "";
  return recording.scopes.map((scope) => say(`talk.recording.${scope}`)).join(say("talk.recording.comma"));
}

/**
 * Whether listening to the voice has to stay on: where no child may be recorded, it alone can tell.
 * @param {{recording: boolean} | null} recording
 */
export function needsPerception(recording) {
  return Boolean(recording?.recording) && !settings.recording.children;
}

/**
 * @param {{onStop: () => void}} options
 * @returns {{element: HTMLElement, show: (recording: object | null) => void}}
 */
export function recordingSign({ onStop }) {
  const words = h("span", { role: "status" });
  const why = h("span", { class: "muted small recording-why" });
  const stop = h("div", { class: "recording-stop" });
  const sign = h("span", { class: "chip recording-chip" }, h("i", { class: "recording-dot", "aria-hidden": "true" }), words);
  const element = h("div", { class: "recording" }, sign, stop, why);
  let last = null;
  const show = (recording) => {
    if (recording === last && words.textContent) return;
    last = recording;
    const what = keptWords(recording);
    element.dataset.recording = what ? "on" : "off";
    words.textContent = what ? t("talk.recording.on", { what }) : t("talk.recording.off");
    replace(stop, what && confirmed({
      label: t("talk.recording.stop"), question: t("talk.recording.stop_ask"), yes: t("talk.recording.stop_yes"),
      act: async () => onStop(),
    }));
    const reason = recording?.reason && `talk.recording.reason.${recording.reason}`;
    replace(why, reason && has(reason) ? t(reason) : "");
  };
  show(null);
  return { element, show };
}

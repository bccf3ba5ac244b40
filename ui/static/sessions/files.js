/** A session's files, to be saved. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { save } from "./requests.js";

/** @param {object} session */
export function filesOf({ id, audio, state }) {
  const note = h("p", { class: "complaint", role: "alert", hidden: true });
  const button = (what, name) => {
    const made = h("button", { type: "button", class: "button" }, t(`sessions.save.${what}`));
    made.addEventListener("click", async () => {
      made.disabled = note.hidden = true;
      try {
        await save(id, what, name);
      } catch (error) {
        note.hidden = false;
        replace(note, error.message);
      }
      made.disabled = false;
    });
    return made;
  };
  return h("section", { class: "card stack" }, h("h2", {}, t("sessions.save.title")),
    h("div", { class: "row" },
      audio && state !== "recording" ? button("audio", `${id}.flac`) : null,
      button("events", `${id}.jsonl`)),
    note);
}

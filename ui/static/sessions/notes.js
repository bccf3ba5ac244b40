/** The operator's notes and tags on a session. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { annotate } from "./requests.js";

/** Tags as one types them: with commas or spaces of any kind between, each once. */
export function tagsOf(text) {
  return [...new Set(text.split(/[,，;；\n]/).map((each) => each.trim()).filter(Boolean))];
}

/**
 * @param {string} id
 * @param {{notes: string, tags: string[]} | null} known
 */
export function notesEditor(id, known) {
  const notes = h("textarea", { class: "field", id: "notes", rows: "4", maxlength: "20000" });
  notes.value = known?.notes ?? "";
  const tags = h("input", { class: "field", id: "tags", value: (known?.tags ?? []).join(", "), placeholder: t("sessions.notes.tags_hint") });
  const told = h("span", { class: "muted", role: "status" });
  const save = h("button", { class: "button" }, t("sessions.notes.save"));
  const form = h("form", { class: "card stack notes" },
    h("h2", {}, t("sessions.notes.title")),
    h("label", { for: "notes", class: "sr-only" }, t("sessions.notes.title")), notes,
    h("div", {}, h("label", { for: "tags" }, t("sessions.notes.tags")), tags),
    h("div", { class: "row" }, save, told));
  form.addEventListener("input", () => replace(told, t("sessions.notes.unsaved")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const stored = await annotate(id, { notes: notes.value, tags: tagsOf(tags.value) });
      tags.value = stored.tags.join(", ");
      replace(told, t("sessions.notes.saved"));
    } catch (error) {
      replace(told, h("span", { class: "complaint" }, error.message));
    }
    save.disabled = false;
  });
  return form;
}

/**
 * What one should know before talking, and what may be kept: asked every time. Of the answers only
 * the wish about the tone is where one left it.
 */

import { h, replace, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { explanation } from "./explanation.js";

const NAME_LETTERS = 80;

/**
 * @typedef {{consent: {transcript: boolean, audio: boolean, research: boolean},
 *   perception: boolean, name: string | null}} Answer
 */

/**
 * Ask, in a dialog of its own.
 * @param {{settings: object, remembered?: {perception?: boolean}}} asked
 * @returns {Promise<Answer | null>} null: closed without an answer
 */
export async function askConsent({ settings, remembered = {} }) {
  await stylesheet(import.meta.url, "./consent.css");
  const form = choices(settings, remembered);
  const close = h("button", { type: "button", class: "button quiet icon close", "aria-label": t("consent.close") }, "✕");
  const dialog = h("dialog", { class: "consent", "aria-labelledby": "consent-title" },
    h("header", {}, h("h2", { id: "consent-title" }, t("consent.title")), close),
    h("div", { class: "consent-body", tabindex: "-1" }, explanation(settings, form.perception), form.element),
    form.footer);
  (document.querySelector(".attune") ?? document.body).append(dialog);
  return new Promise((resolve) => {
    let answer = null;
    const over = (given) => {
      answer = given;
      dialog.close();
    };
    form.onanswer = over;
    close.addEventListener("click", () => over(null));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    }, { once: true });
    dialog.showModal();
    dialog.querySelector(".consent-body").focus();
  });
}

/** The switches, and the two ways to go on. */
function choices(settings, remembered) {
  const asks = settings.recording.enabled;
  const hears = (settings.perception?.hears ?? []).length > 0;
  const perception = hears ? toggle("perception", { checked: remembered.perception !== false }) : null;
  const scopes = { transcript: toggle("transcript"), audio: toggle("audio"), research: toggle("research") };
  const adult = h("input", { type: "checkbox", id: "consent-adult" });
  const name = h("input", {
    class: "field", id: "consent-name", maxlength: NAME_LETTERS, autocomplete: "off",
    spellcheck: "false", "aria-describedby": "consent-name-note",
  });
  const whenKept = h("div", { class: "when-kept stack", hidden: true },
    h("label", { class: "tick" }, adult, h("span", {}, t("consent.adult"))),
    h("div", { class: "named" },
      h("label", { for: "consent-name" }, t("consent.name")), name,
      h("p", { class: "muted small", id: "consent-name-note" }, t("consent.name_note"))));
  const keep = h("button", { type: "button", class: "button keep", "aria-describedby": "consent-missing" }, t("consent.keep"));
  const plain = h("button", { type: "button", class: "button plain" }, t(asks ? "consent.plain" : "consent.talk"));
  const missing = h("p", { class: "missing small", id: "consent-missing", "aria-live": "polite" });
  const form = {
    onanswer: () => {},
    perception: perception?.element,
    element: asks
      ? h("fieldset", { class: "scopes" },
        h("legend", {}, t("consent.keep_title")),
        Object.values(scopes).map(({ element }) => element), whenKept,
        h("p", { class: "small muted" }, t("consent.later"),
          settings.recording.children ? null : ` ${t("consent.children")}`))
      : h("p", { class: "kept-nothing" }, t("consent.off")),
    footer: h("footer", {}, asks ? missing : null,
      h("div", { class: asks ? "ways" : "ways one" }, asks ? keep : null, plain)),
  };

  function given() {
    const on = (scope) => scopes[scope].input.checked;
    const personal = on("transcript") || on("audio");
    return { transcript: on("transcript"), audio: on("audio"), research: personal && on("research") };
  }

  /** Where no child may be recorded, only listening to the voice can tell. */
  const blind = () => !settings.recording.children && !perception?.input.checked;

  function wanting({ transcript, audio }) {
    if (blind()) return t(perception ? "consent.missing_perception" : "consent.missing_ears");
    if (!transcript && !audio) return t("consent.missing");
    return adult.checked ? "" : t("consent.missing_adult");
  }

  function look() {
    for (const { input } of Object.values(scopes)) {
      input.disabled = blind();
      if (blind()) input.checked = false;
    }
    const { transcript, audio } = given();
    const personal = transcript || audio;
    scopes.research.input.disabled = !personal;
    if (!personal) scopes.research.input.checked = false;
    if (whenKept.hidden && personal) requestAnimationFrame(() => whenKept.scrollIntoView({ block: "nearest" }));
    whenKept.hidden = !personal;
    keep.disabled = !personal || !adult.checked;
    keep.classList.toggle("primary", !keep.disabled);
    replace(missing, wanting(given()));
  }

  const answer = (consent) => form.onanswer({
    consent,
    perception: perception ? perception.input.checked : false,
    name: consent.transcript || consent.audio ? name.value.trim() || null : null,
  });
  keep.addEventListener("click", () => answer(given()));
  plain.addEventListener("click", () => answer({ transcript: false, audio: false, research: false }));
  for (const { input } of [...Object.values(scopes), { input: adult }, ...(perception ? [perception] : [])]) input.addEventListener("change", look);
  look();
  return form;
}

function toggle(name, { checked = false } = {}) {
  const input = h("input", {
    type: "checkbox", role: "switch", name, checked, "aria-describedby": `consent-${name}-note`,
  });
  const element = h("label", { class: "switch" }, input, h("span", {},
    h("strong", {}, t(`consent.scope.${name}`)),
    h("span", { class: "note muted small", id: `consent-${name}-note` }, t(`consent.scope.${name}_note`))));
  return { element, input };
}

/** Devices, size of the words, perception, holding to talk: what one may set while talking. */

import { h, replace } from "../core/dom.js";
import { t } from "../core/page.js";
import { SIZES } from "./remember.js";
import { openSheet } from "./sheet.js";
import { hears } from "./side.js";

/**
 * @param {HTMLElement} place
 * @param {{chosen: object, devices: () => Promise<{inputs: object[], outputs: object[]}>,
 *   microphone: boolean, needed: boolean, changed: EventTarget | null,
 *   onChange: (change: object) => void}} options `needed`: see side.js
 */
export async function openOptions(place, { chosen, devices, microphone, needed, changed, onChange }) {
  const pickers = h("div", { class: "stack" });
  const list = async () => {
    const { inputs, outputs } = await devices().catch(() => ({ inputs: [], outputs: [] }));
    replace(pickers,
      microphone && picker("input", inputs, chosen.input, onChange),
      outputs.length > 0 && picker("output", outputs, chosen.output, onChange));
  };
  changed?.addEventListener("devices", list);
  await list();
  await openSheet(place, t("talk.options.title"),
    pickers,
    sizes(chosen.captions, onChange),
    hears && toggle("perception", chosen.perception, onChange, needed),
    microphone && toggle("push", chosen.pushToTalk, (change) => onChange({ pushToTalk: change.push })),
    toggle("shortcuts", chosen.shortcuts, onChange));
  changed?.removeEventListener("devices", list);
}

function picker(name, found, chosen, onChange) {
  const choices = found.filter(({ id }) => id && id !== "default" && id !== "communications");
  const select = h("select", { class: "field", id: `option-${name}` },
    h("option", { value: "" }, t("talk.options.usual")),
    choices.map(({ id, label }, place) =>
      h("option", { value: id }, label || t("talk.options.unnamed", { number: place + 1 }))));
  select.value = choices.some(({ id }) => id === chosen) ? chosen : "";
  select.addEventListener("change", () => onChange({ [name]: select.value }));
  return h("div", {}, h("label", { for: `option-${name}` }, t(`talk.options.${name}`)), select);
}

function sizes(chosen, onChange) {
  const choices = SIZES.map((size) => {
    const input = h("input", { type: "radio", name: "captions", value: size, checked: size === chosen, class: "sr-only" });
    input.addEventListener("change", () => onChange({ captions: size }));
    return h("label", { class: `size size-${size}`, title: t(`talk.options.${size}`) },
      input, h("span", { "aria-hidden": "true" }, "Aa"), h("span", { class: "sr-only" }, t(`talk.options.${size}`)));
  });
  return h("fieldset", { class: "sizes" }, h("legend", {}, t("talk.options.captions")), h("div", {}, choices));
}

function toggle(name, on, onChange, needed = false) {
  const input = h("input", { type: "checkbox", role: "switch", checked: on, disabled: on && needed });
  input.addEventListener("change", () => onChange({ [name]: input.checked }));
  return h("label", { class: "switch" }, input,
    h("span", {}, t(`talk.options.${name}`),
      h("span", { class: "muted small option-note" }, t(`talk.options.${name}_${input.disabled ? "needed" : "note"}`))));
}

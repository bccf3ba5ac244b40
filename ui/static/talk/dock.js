/** The large button with its words, and the controls around it. */

import { h } from "../core/dom.js";
import { t } from "../core/page.js";
import { icon } from "./icons.js";
import { orb } from "./orb.js";
import { deed } from "./phase.js";

/**
 * @param {{deed: (name: string) => void, press: () => void, release: () => void,
 *   mute: () => void, push: () => void, text: (words: string) => boolean, options: () => void,
 *   help: () => void, end: () => void}} on
 */
export function dock(on) {
  const big = orb();
  const words = h("p", { class: "dock-phase", "aria-hidden": "true" });
  const hint = h("p", { class: "dock-hint" });
  const mute = control("mute", "mic", () => on.mute());
  const push = control("push", "hand", () => on.push());
  const options = control("options", "options", () => on.options());
  const help = control("help", "help", () => on.help());
  const end = control("end", "end", () => on.end());
  const { form, field } = writing((said) => on.text(said));
  let now = "none";
  holding(big.element, () => now, on);

  const element = h("div", { class: "dock", role: "group", "aria-label": t("talk.bar.label") },
    h("div", { class: "dock-orb" }, big.element),
    h("div", { class: "dock-words" }, words, hint),
    mute, push, form, options, help, end);

  /** @param {{phase: string, hands: object, hint?: string}} look `phase`: as shown */
  const show = ({ phase, hands, hint: instead }) => {
    now = deed(phase, hands);
    big.show({ phase, label: `${t(`talk.phase.${phase}`)}. ${t(`talk.deed.${now}`)}`, idle: now === "none" });
    write(words, t(`talk.phase.${phase}`));
    write(hint, instead || t(`talk.hint.${now}`));
    const muted = hands.muted;
    pressed(mute, muted, t(muted ? "talk.bar.unmute" : "talk.bar.mute"), muted ? "muted" : "mic");
    pressed(push, hands.pushToTalk, t("talk.bar.push"), "hand");
    mute.hidden = push.hidden = hands.silent;
  };
  return { element, show, level: big.level, close: big.close, field, focus: () => big.element.focus({ preventScroll: true }) };
}

/** Press and hold, or press once: what it does depends on the moment it is pressed. */
function holding(button, deedNow, on) {
  let held = false;
  const up = () => {
    if (!held) return;
    held = false;
    on.release();
  };
  button.addEventListener("pointerdown", (event) => {
    if (deedNow() !== "hold" || event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    held = true;
    on.press();
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) button.addEventListener(name, up);
  button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a phone
  button.addEventListener("click", () => {
    if (deedNow() !== "hold" && deedNow() !== "none") on.deed(deedNow());
  });
}

function writing(send) {
  const field = h("input", {
    class: "field", type: "text", id: "talk-text", autocomplete: "off", enterkeyhint: "send",
    maxlength: "2000", placeholder: t("talk.bar.type_short"), "aria-label": t("talk.bar.type"),
  });
  const button = h("button", { class: "button icon dock-send", "aria-label": t("talk.bar.send"), title: t("talk.bar.send") },
    icon("send"));
  const form = h("form", { class: "dock-text" }, field, button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const words = field.value.trim();
    if (!words) return;
    if (send(words)) field.value = "";
  });
  return { form, field };
}

function control(name, sign, act) {
  const words = h("span", { class: "control-words" }, t(`talk.bar.${name}`));
  return h("button", {
    class: `button control control-${name}`, type: "button", title: t(`talk.bar.${name}`),
    dataset: { control: name, sign }, on: { click: act },
  }, icon(sign), words);
}

function pressed(button, on, label, sign) {
  button.setAttribute("aria-pressed", String(Boolean(on)));
  if (button.dataset.sign !== sign) {
    button.dataset.sign = sign;
    button.querySelector("svg").replaceWith(icon(sign));
  }
  write(button.querySelector(".control-words"), label);
  button.title = label;
}

function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

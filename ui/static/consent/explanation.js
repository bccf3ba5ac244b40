/** What people are told before they talk: four short facts, and more for those who want it. */

import { h, svg } from "../core/dom.js";
import { t } from "../core/page.js";

const DRAWINGS = {
  machine: "M6 9h12v9H6zM12 9V5M9.5 13h.01M14.5 13h.01M3.5 12v3M20.5 12v3",
  tone: "M4 12h2l2-5 3 10 3-8 2 3h4",
  place: "M5 5h14v6H5zM5 13h14v6H5zM8.5 8h.01M8.5 16h.01",
  others: "M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3.5 19c.6-3 2.7-5 5.5-5s4.9 2 5.5 5M16 11a2.5 2.5 0 1 0-1-4.8M16.5 14c2.1.3 3.5 1.9 4 4.5",
};

/**
 * @param {object} settings
 * @param {HTMLElement | undefined} perception the switch that stops it listening to the tone
 * @returns {HTMLElement}
 */
export function explanation(settings, perception) {
  const own = settings.consent?.paragraphs;
  if (own) {
    return h("div", { class: "told" }, own.map((paragraph) => h("p", {}, paragraph)),
      perception && h("div", { class: "tone" }, perception), remote(settings));
  }
  return h("div", { class: "told" },
    h("ul", { class: "facts" },
      fact("machine", t("consent.machine")),
      fact("tone", t(perception ? "consent.tone" : "consent.tone_off"), perception),
      fact("place", where(settings)),
      fact("others", t("consent.others"))),
    h("details", { class: "more" },
      h("summary", {}, t("consent.more.summary")),
      ["guesses", "kept", "unrecorded", "who", settings.kiosk ? "back_kiosk" : "back"].map((name) => h("p", {}, t(`consent.more.${name}`))),
      settings.perception?.licence && h("p", {}, t("consent.more.licence", { licence: settings.perception.licence }))));
}

/** A text of the operator's own may forget who else will hear: that is told all the same. */
function remote(settings) {
  return settings.services.length ? h("p", {}, where(settings)) : null;
}

function where({ services }) {
  if (!services.length) return t("consent.here");
  const parts = services.map(({ role, host }) =>
    t("consent.service", { what: t(`consent.gets.${role}`), host }));
  return t("consent.elsewhere", { services: parts.join(t("consent.comma")) });
}

function fact(name, text, more = null) {
  return h("li", {},
    svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: DRAWINGS[name] })),
    h("div", {}, h("p", {}, text), more));
}

/** What one should know before a round, and what may be kept of it. */

import { h, replace } from "../core/dom.js";
import { settings, t } from "../core/page.js";

const SCOPES = ["transcript", "audio", "research"];

/**
 * All are off until somebody switches them on; what is chosen holds until the page is left.
 * @returns {{element: HTMLElement, scopes: () => string[],
 *   tellServices: (systems: {host: string}[] | null) => void}} `tellServices`: once it is known who
 *   else the systems ask; null: it cannot be known
 */
export function keeping() {
  const boxes = Object.fromEntries([...SCOPES, "adult"].map((name) => [name, box(name)]));
  const heading = h("span", {});
  const hosts = h("p", { class: "small muted compare-hosts" });
  const scopes = () => {
    const kept = boxes.adult.checked && (boxes.transcript.checked || boxes.audio.checked);
    return kept ? SCOPES.filter((name) => boxes[name].checked) : [];
  };
  const show = () => {
    const personal = boxes.transcript.checked || boxes.audio.checked;
    boxes.research.disabled = !personal;
    if (!personal) boxes.research.checked = false;
    const what = scopes().map((name) => t(`talk.recording.${name}`)).join(t("compare.keep.comma"));
    replace(heading, what ? t("compare.keep.chosen", { what }) : t("compare.keep.title"));
  };
  const element = settings.recording.enabled
    ? h("details", { class: "compare-keep", on: { change: show } },
        h("summary", {}, heading, h("span", { class: "compare-keep-more" }, t("compare.keep.more"))),
        h("div", { class: "compare-keep-all" },
          h("p", { class: "small muted" }, t("compare.keep.why")),
          SCOPES.map((name) => switched(t(`consent.scope.${name}`), boxes[name], t(`consent.scope.${name}_note`))),
          switched(t("consent.adult"), boxes.adult, null),
          settings.recording.children ? null : h("p", { class: "small muted" }, t("compare.keep.children")),
          h("p", { class: "small muted" }, `${t("consent.more.who")} ${t("compare.keep.back")}`)))
    : h("p", { class: "small muted" }, t("compare.keep.off"));
  show();
  const tellServices = (systems) => {
    const names = [...new Set([...settings.services, ...(systems ?? [])].map(({ host }) => host))];
    if (names.length > 0) replace(hosts, t("compare.keep.services", { hosts: names.join(t("compare.keep.comma")) }));
    else if (systems) replace(hosts, t("consent.here"));
  };
  tellServices(null); // as far as it is known
  return { element: h("div", { class: "compare-terms" }, element, told(), hosts), scopes, tellServices };
}

/** As before a conversation; but whether a version listens to the tone is its own affair. */
function told() {
  const own = settings.consent?.paragraphs;
  const lines = own ? [...own, t("compare.keep.tone")]
    : [`${t("consent.machine")} ${t("compare.keep.tone")}`, `${t("consent.others")} ${t("consent.more.guesses")}`];
  return h("div", { class: "compare-told" }, lines.map((line) => h("p", { class: "small muted" }, line)));
}

function box(name) {
  return h("input", { type: "checkbox", role: "switch", name: `keep-${name}`, autocomplete: "off" });
}

function switched(label, input, note) {
  return h("label", { class: "switch" }, input,
    h("span", {}, label, note && h("small", { class: "muted" }, note)));
}

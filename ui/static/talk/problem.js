/** What went wrong in a plain sentence, what to do about it, and a button where one helps. */

import { h } from "../core/dom.js";
import { has, t } from "../core/page.js";
import { icon } from "./icons.js";

const NO_USE = new Set(["insecure", "unsupported", "refused"]); // trying again changes nothing
const NO_EAR = new Set(["denied", "missing", "busy", "lost"]); // one can go on without a microphone

/**
 * @param {{kind: string, seconds?: number}} problem
 * @param {{again?: () => void, demo?: () => void, type?: () => void, cancel?: () => void}} ways
 *   `cancel`: of a problem that we try to overcome by ourselves
 */
export function problemCard(problem, { again, demo, type, cancel }) {
  const kind = has(`talk.problem.${problem.kind}.title`) ? problem.kind : "error";
  const deaf = NO_EAR.has(kind);
  return h("section", { class: "card problem", role: "alert", dataset: { problem: kind } },
    icon("warn"),
    h("div", { class: "problem-words" },
      h("h2", {}, t(`talk.problem.${kind}.title`)),
      h("p", {}, problem.seconds ? t("talk.problem.waiting") : t(`talk.problem.${kind}.do`)),
      h("div", { class: "row problem-ways" },
        again && !problem.seconds && !NO_USE.has(kind) && way("again", again, "primary"),
        problem.seconds && cancel && way("cancel", cancel, ""),
        deaf && type && way("type", type, ""),
        deaf && demo && way("demo", demo, "quiet"))));
}

function way(name, go, look) {
  return h("button", { class: `button small ${look}`, type: "button", dataset: { way: name }, on: { click: go } },
    t(`talk.problem.${name}`));
}

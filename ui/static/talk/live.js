/** The view of a conversation that is going on. */

import { h, replace } from "../core/dom.js";
import { settings, t } from "../core/page.js";
import { announcer } from "./announce.js";
import { chat } from "./chat.js";
import { demoStrip } from "./demo_strip.js";
import { dock } from "./dock.js";
import { notices } from "./notices.js";
import { shown } from "./phase.js";
import { problemCard } from "./problem.js";
import { queueCard } from "./queue.js";
import { needsPerception, recordingSign } from "./recording.js";
import { hears, side } from "./side.js";

/**
 * @param {{on: object, demo: object | null, perception: boolean}} options `on`: see dock.js, and
 *   `again`, `stopRecording`, `perception`, `stay`, `dismiss`
 */
export function liveView({ on, demo, perception }) {
  const talk = chat();
  const heard = hears ? side({ perception, onPerception: on.perception }) : null;
  const controls = dock(on);
  const spoken = announcer();
  const sign = recordingSign({ onStop: on.stopRecording });
  const said = notices({ onStay: on.stay, onDismiss: on.dismiss });
  const trouble = h("div", { class: "live-problem" });
  const strip = demo ? demoStrip({ clips: settings.demo, demo }).element : null;
  const element = h("div", { class: "live", "data-plain": !hears },
    h("section", { class: "live-main", "aria-label": t("talk.conversation") },
      h("div", { class: "live-head" }, sign.element),
      talk.element, said.element, trouble, strip, controls.element),
    heard?.element,
    spoken.element);
  let before = {};
  let line = null; // where we stand in it, after we were cut off

  const show = (state, hands) => {
    const phase = shown(state.phase, hands);
    element.dataset.phase = phase;
    const empty = !state.turns.some(({ role, responseId }) => role === "user" || responseId);
    element.toggleAttribute("data-empty", empty);
    controls.show({ phase, hands, hint: empty ? welcome(phase) : "" });
    spoken.phase(t(`talk.phase.${phase}`));
    if (state.turns !== before.turns || state.sessions !== before.sessions) {
      talk.show(state.turns, state.sessions);
      spoken.turns(state.turns);
    }
    if (state.percept !== before.percept) heard?.show(state.percept);
    sign.show(state.recording);
    heard?.needed(needsPerception(state.recording));
    said.state(state);
    if (state.queue && !before.queue) replace(trouble, (line = queueCard()).element);
    if (state.queue) line.show(state.queue);
    else if (state.problem !== before.problem || before.queue) {
      replace(trouble, state.problem && problemCard(state.problem, { again: on.again }));
    }
    before = state;
  };
  const close = () => {
    talk.close();
    controls.close();
    heard?.close();
  };
  return {
    element, show, close, level: controls.level, field: controls.field, left: said.left,
    perception: heard?.perception, focus: controls.focus,
  };
}

/** The first words, while nothing has been said. */
function welcome(phase) {
  if (phase === "waiting") return t("talk.empty_push");
  if (phase === "listening") return settings.greeting || t("talk.empty");
  if (phase === "ready") return t("talk.empty_demo");
  if (phase === "writing") return t("talk.empty_silent");
  return "";
}

/** Starting a scoring, and watching it. */

import { api, operator } from "../core/api.js";
import { h, replace } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { whileSeen } from "../system/poll.js";

const EVERY_MS = 1000;

/**
 * @param {{running: any, changed: () => void}} given `changed`: there may be a new report
 * @returns {HTMLElement}
 */
export function runPanel({ running, changed }) {
  const element = h("div", { class: "run" });
  const said = h("p", { class: "run-said", role: "status" });

  function idle(words = "", bad = false) {
    said.textContent = words;
    said.className = bad ? "run-said complaint" : "run-said";
    const start = h("button", { class: "button primary", type: "button", on: { click: begin } }, t("scores.run.start"));
    replace(element, start, said);
  }

  async function begin() {
    try {
      watch(await api("/api/reports", { method: "POST", json: {}, token: operator.token }));
    } catch (error) {
      idle(error.message, true);
    }
  }

  function watch(progress) {
    const bar = h("progress", { class: "run-bar", "aria-label": t("scores.run.progress") });
    const words = h("p", { class: "small muted" });
    const stop = h("button", { class: "button", type: "button", on: { click: () => end(progress.name, stop) } }, t("scores.run.stop"));
    said.textContent = t("scores.run.running");
    said.className = "run-said";
    replace(element, h("div", { class: "run-now" }, said, bar, words), stop);
    show(progress, bar, words);
    whileSeen(bar, async () => {
      const told = await api(`/api/reports/${progress.name}/progress`, { token: operator.token });
      show(told, bar, words);
      if (told.state === "running") return true;
      idle(told.problem ?? t(`scores.run.${told.state}`), told.state === "failed");
      if (told.state === "finished") changed();
      return false;
    }, EVERY_MS);
  }

  if (running) watch(running);
  else idle();
  return element;
}

async function end(name, button) {
  button.disabled = true;
  await api(`/api/reports/${name}`, { method: "DELETE", token: operator.token }).catch(() => null);
}

function show({ done, total, doing }, bar, words) {
  if (total) {
    bar.max = total;
    bar.value = done;
  } else {
    bar.removeAttribute("value");
  }
  const count = total ? t("scores.run.of", { done: number(done), total: number(total) }) : "";
  words.textContent = [count, doing].filter(Boolean).join(" · ");
}

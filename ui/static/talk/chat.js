/** Both sides of the conversation, newest at the bottom, where it stays while one looks there. */

import { h, stylesheet } from "../core/dom.js";
import { t } from "../core/page.js";
import { icon } from "./icons.js";
import { turnView } from "./turn.js";

stylesheet(import.meta.url, "./chat.css");

const NEAR = 96; // px from the bottom that still count as there

/**
 * @returns {{element: HTMLElement, show: (turns: object[], sessions: object[]) => void,
 *   close: () => void}}
 */
export function chat() {
  const list = h("ol", { class: "chat", tabindex: "0", "aria-label": t("talk.conversation") });
  const latest = h("button", { class: "button small chat-latest", type: "button", hidden: true },
    icon("down"), t("talk.latest"));
  const views = new Map();
  const over = new AbortController();
  let followed = true;
  let top = 0;

  const settle = () => {
    list.scrollTop = list.scrollHeight;
  };
  list.addEventListener("scroll", () => {
    const below = list.scrollHeight - list.scrollTop - list.clientHeight;
    if (below < NEAR) followed = true;
    else if (list.scrollTop < top) followed = false; // by hand: a list that grows does not move up
    top = list.scrollTop;
    latest.hidden = followed;
  }, { passive: true });
  latest.addEventListener("click", () => {
    followed = true;
    settle();
  });
  const sizes = new ResizeObserver(() => followed && settle());
  sizes.observe(list);

  const show = (turns, sessions) => {
    for (const turn of turns) {
      const known = views.get(turn.id);
      if (known?.turn === turn) continue;
      const view = known?.view ?? turnView(turn.role, over.signal);
      view.show(turn, sessions.find(({ id }) => id === turn.sessionId) ?? null);
      views.set(turn.id, { turn, view });
    }
    arrange(list, turns.map(({ id }) => views.get(id).view.element));
    drop(views, turns);
    if (followed) settle();
  };
  const close = () => {
    over.abort();
    sizes.disconnect();
  };
  return { element: h("div", { class: "chat-frame" }, list, latest), show, close };
}

function arrange(list, elements) {
  elements.forEach((element, place) => {
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  });
}

function drop(views, turns) {
  const kept = new Set(turns.map(({ id }) => id));
  for (const [id, { view }] of views) {
    if (kept.has(id)) continue;
    view.element.remove();
    views.delete(id);
  }
}

/** Talk: the page people talk to. */

import { stylesheet } from "../core/dom.js";
import { settings } from "../core/page.js";
import { Talk } from "./talk.js";

/** @param {HTMLElement} element */
export async function mount(element) {
  await Promise.all(["./talk.css", "./first.css", "./live.css"].map((file) => stylesheet(import.meta.url, file)));
  const talk = new Talk(element);
  const asked = new URLSearchParams(location.search).get("demo");
  if (asked && settings.demo.length > 0) talk.begin({ demo: true });
}

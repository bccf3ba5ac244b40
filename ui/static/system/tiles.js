/** The tiles at the top: a figure each, what it means, and its last five minutes. */

import { h, replace, svg } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { points } from "./readings.js";
import { megabytes, ms, named, percent } from "./words.js";

/** Every tile: what it is called, its line, and how it reads a system's figures. */
const TILES = [
  {
    name: "seats", line: "seats_taken", least: (system) => Math.max(1, system.seats.total / 8),
    read: ({ seats }) => ({
      figure: number(seats.taken),
      of: t("system.tile.seats.of", { total: number(seats.total) }),
      more: seats.waiting ? t("system.tile.seats.waiting", { waiting: number(seats.waiting) })
        : t("system.tile.seats.free", { free: number(seats.free) }),
    }),
  },
  {
    name: "cpu", line: "process_cpu", least: () => 20,
    read: ({ machine }) => ({
      figure: percent(machine.process_cpu),
      of: t("system.tile.cpu.of"),
      more: t("system.tile.cpu.more", { machine: percent(machine.machine_cpu), cores: number(machine.cores) }),
    }),
  },
  {
    name: "memory", line: "memory_mb", least: () => 256,
    read: ({ machine }) => ({
      figure: megabytes(machine.memory_mb),
      more: t("system.tile.memory.more", { machine: percent(machine.machine_memory), threads: number(machine.threads) }),
    }),
  },
  {
    name: "lag", line: "lag_ms", least: () => 10,
    read: ({ machine }) => ({
      figure: ms(machine.lag_p99_ms),
      more: t("system.tile.lag.more", { p50: ms(machine.lag_p50_ms) }),
    }),
  },
  {
    name: "conversations",
    read: ({ conversations: all }) => ({
      figure: number(all.opened),
      of: t("system.tile.conversations.of"),
      more: t("system.tile.conversations.more", { replies: number(all.replies) }),
      list: [["refused", all.refused], ["lost", all.lost], ["failed", all.failed]].map(
        ([key, count]) => [t(`system.tile.conversations.${key}`), number(count)]),
    }),
  },
  {
    name: "recordings",
    read: ({ recordings }) => ({
      figure: recordings.enabled ? number(recordings.running) : t("system.tile.recordings.off"),
      of: recordings.enabled ? t("system.tile.recordings.of") : null,
      more: recordings.disk_free_gb === null ? t("system.tile.recordings.remote")
        : t("system.tile.recordings.disk", { free: megabytes(recordings.disk_free_gb * 1024) }),
      list: stopped(recordings.stopped),
    }),
  },
];

function stopped(reasons) {
  const found = Object.entries(reasons).map(([why, count]) => [named("system.stopped", why), number(count)]);
  return found.length ? found : [[t("system.tile.recordings.unbroken"), "✓"]];
}

/** @returns {{element: HTMLElement, show(system: any, series: import("./readings.js").Series): void}} */
export function tiles() {
  const made = TILES.map((tile) => ({ ...tile, body: h("div", { class: "tile-body" }) }));
  const element = h("section", { class: "tiles", "aria-label": t("system.now") },
    made.map(({ name, body }) => h("article", { class: `card tile tile-${name}` },
      h("h2", { class: "tile-name" }, t(`system.tile.${name}.title`)), body)));
  return {
    element,
    show(system, series) {
      for (const { read, line, least, body } of made) {
        const told = read(system);
        replace(body,
          h("p", { class: "tile-figure" }, told.figure, told.of && h("span", { class: "tile-of" }, told.of)),
          line ? sparkline(series.lines[line], Math.floor(300 / series.step), least(system)) : null,
          told.list ? list(told.list) : null,
          h("p", { class: "tile-more muted" }, told.more));
      }
    },
  };
}

function list(entries) {
  return h("dl", { class: "tile-list" }, entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function sparkline(values, slots, least) {
  const line = points(values, { slots, least });
  const path = line.map(([x, y], index) => `${index ? "L" : "M"}${x} ${y}`).join("");
  const [first, last] = [line[0]?.[0] ?? 0, line.at(-1)?.[0] ?? 100];
  return svg("svg", { class: "spark", viewBox: "0 -4 100 108", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "spark-base", d: "M0 100L100 100" }),
    line.length > 1 && svg("path", { class: "spark-area", d: `${path}L${last} 100L${first} 100Z` }),
    line.length > 1 && svg("path", { class: "spark-line", d: path }));
}

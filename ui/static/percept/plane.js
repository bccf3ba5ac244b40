/** The round plane of feeling: how pleasant and how lively a voice is, and where it came from. */

import { svg } from "../core/dom.js";
import { number, t } from "../core/page.js";
import { place } from "./words.js";

const RADIUS = 100;
const TRAIL = 14; // points
const CORNERS = [["tense", -1, -1], ["excited", 1, -1], ["low", -1, 1], ["ease", 1, 1]];
const AXES = [["lively", 0, -1], ["calm", 0, 1], ["unpleasant", -1, 0], ["pleasant", 1, 0]];

/**
 * @returns {{element: SVGElement, show(affect: {valence: number, arousal: number} | null,
 *   sure: boolean): void, clear(): void}}
 */
export function affectPlane() {
  const trail = svg("g", { class: "trail" });
  const point = svg("g", { class: "point", opacity: 0 },
    svg("circle", { r: 15, class: "halo" }), svg("circle", { r: 7, class: "dot" }));
  const element = svg("svg", {
    viewBox: "-136 -122 272 244", class: "plane", role: "img", "aria-label": t("percept.plane.empty"),
  }, ground(), trail, point);
  let before = [];

  function show(affect, sure) {
    const here = place(affect);
    element.setAttribute("aria-label", spoken(affect, sure));
    point.setAttribute("opacity", here ? 1 : 0);
    if (!here) return;
    const [x, y] = [here.x * RADIUS, -here.y * RADIUS];
    point.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    point.classList.toggle("unsure", !sure);
    before = [...before, [x, y]].slice(-TRAIL);
    trail.replaceChildren(...steps(before));
  }

  function clear() {
    before = [];
    trail.replaceChildren();
    point.setAttribute("opacity", 0);
    element.setAttribute("aria-label", t("percept.plane.empty"));
  }

  return { element, show, clear };
}

function ground() {
  return svg("g", { "aria-hidden": "true" },
    svg("circle", { r: RADIUS, class: "disc" }),
    svg("circle", { r: RADIUS / 2, class: "ring" }),
    svg("path", { d: `M-${RADIUS} 0H${RADIUS}M0 -${RADIUS}V${RADIUS}`, class: "ring" }),
    CORNERS.map(([name, x, y]) => svg("text", {
      x: x * 134, y: y < 0 ? -105 : 115, class: "corner", "text-anchor": x < 0 ? "start" : "end",
    }, t(`percept.plane.${name}`))),
    AXES.map(([name, x, y]) => svg("text", {
      x: x * 94, y: y === 0 ? -5 : y * 94 + (y < 0 ? 8 : 0), class: "axis",
      "text-anchor": x < 0 ? "start" : x > 0 ? "end" : "middle",
    }, t(`percept.plane.${name}`))));
}

/** The way so far: the older, the fainter. */
function steps(points) {
  return points.slice(1).map(([x, y], index) => {
    const [fromX, fromY] = points[index];
    const age = (index + 1) / points.length;
    return svg("line", {
      x1: fromX, y1: fromY, x2: x, y2: y, "stroke-opacity": (0.08 + 0.5 * age ** 2).toFixed(2),
    });
  });
}

function spoken(affect, sure) {
  if (!affect) return t("percept.plane.empty");
  const told = (value) => number(value, { maximumFractionDigits: 1 });
  const said = t("percept.plane.spoken", {
    pleasant: told(affect.valence), lively: told(affect.arousal),
  });
  return sure ? said : `${said} ${t("percept.unsure")}`;
}

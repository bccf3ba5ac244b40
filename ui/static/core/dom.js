/** Elements in a line each, and the style sheets that belong to a module. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, any>} [attrs] `on: {click}` listens, `dataset: {}` sets data attributes;
 *   `true` sets an attribute empty; `false`, `null` and `undefined` leave it out.
 * @param {...any} children nodes, strings, lists of them, or nothing
 * @returns {HTMLElement}
 */
export function h(tag, attrs = {}, ...children) {
  return dress(document.createElement(tag), attrs, children);
}

/** The same for drawings. @returns {SVGElement} */
export function svg(tag, attrs = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attrs, children);
}

/** Put these in the place of whatever an element holds. */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Load a style sheet that lies beside a module, once. @returns {Promise<void>} once it applies */
export function stylesheet(module, file) {
  const href = new URL(file, module).href;
  const known = sheets.get(href);
  if (known) return known;
  const link = h("link", { rel: "stylesheet", href });
  const loaded = new Promise((resolve) => {
    link.addEventListener("load", resolve, { once: true });
    link.addEventListener("error", resolve, { once: true });
  });
  document.head.append(link);
  sheets.set(href, loaded);
  return loaded;
}

const sheets = new Map();

function dress(element, attrs, children) {
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "dataset") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

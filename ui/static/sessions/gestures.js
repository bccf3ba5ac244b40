/** Fingers, mouse, wheel and keys on the timeline, told as what they mean. */

const STILL = 5; // pixels a click may wander
const STRIDE = 1; // seconds an arrow key moves

/**
 * @param {HTMLElement} element
 * @param {{zoom: (factor: number, x: number) => void, move: (pixels: number) => void,
 *   tap: (x: number, y: number) => void, hover: (x: number | null, y: number) => void,
 *   step: (seconds: number) => void, leap: (end: boolean) => void, toggle: () => void,
 *   fit: () => void}} means
 * @param {AbortSignal} signal
 */
export function gestures(element, means, signal) {
  const fingers = new Map();
  let begun = null;

  const spot = (event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const spread = () => {
    const [one, two] = [...fingers.values()];
    return { apart: Math.max(Math.abs(one.x - two.x), 20), middle: (one.x + two.x) / 2 };
  };

  function down(event) {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, spot(event));
    begun = fingers.size === 1 ? { ...spot(event), moved: false } : begun && { ...begun, moved: true };
  }

  function drag(event) {
    const now = spot(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      means.hover(now.x, now.y);
      return;
    }
    if (fingers.size === 2) {
      const was = spread();
      fingers.set(event.pointerId, now);
      const is = spread();
      means.zoom(was.apart / is.apart, is.middle);
      means.move(was.middle - is.middle);
      return;
    }
    fingers.set(event.pointerId, now);
    if (!begun.moved && Math.hypot(now.x - begun.x, now.y - begun.y) < STILL) return;
    means.move((begun.moved ? before.x : begun.x) - now.x);
    begun.moved = true;
  }

  function up(event) {
    const known = fingers.delete(event.pointerId);
    if (known && !fingers.size && begun && !begun.moved && event.type === "pointerup") {
      means.tap(begun.x, begun.y);
    }
  }

  function wheel(event) {
    const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) means.zoom(Math.exp(event.deltaY * 0.004), spot(event).x);
    else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) means.move(sideways);
    else return; // up and down is the page's
    event.preventDefault();
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== element) return;
    const stride = event.shiftKey ? 5 * STRIDE : STRIDE;
    const keys = {
      ArrowLeft: () => means.step(-stride),
      ArrowRight: () => means.step(stride),
      Home: () => means.leap(false),
      End: () => means.leap(true),
      " ": () => means.toggle(),
      "+": () => means.zoom(0.5, null),
      "=": () => means.zoom(0.5, null),
      "-": () => means.zoom(2, null),
      0: () => means.fit(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  const listen = (name, listener, options = {}) => element.addEventListener(name, listener, { ...options, signal });
  listen("pointerdown", down);
  listen("pointermove", drag);
  listen("pointerup", up);
  listen("pointercancel", up);
  listen("pointerleave", () => means.hover(null, 0));
  listen("wheel", wheel, { passive: false });
  listen("keydown", key);
}

// A timeline in a component: drag to move through time, wheel or buttons to zoom, drag a pending reservation to another
// time.

import { html, useEffect, useMemo, useRef, useState } from '../ui/html.js';
import { HEADER, LANE, PADDING, colours, draw, labelWidth, rowHeight } from './draw.js';
import { visible } from './model.js';
import { now } from '../state/clock.js';
import { timeWindow, title } from '../format.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SHORTEST = HOUR;
const LONGEST = 31 * 24 * HOUR;

/** To what an item that is dragged snaps, in milliseconds. */
const SNAP = 5 * MINUTE;

/** How many pixels the pointer has to move before a press is a drag. */
const SLACK = 4;

/** How high the timeline is at most, in pixels. */
const HIGHEST = 560;

/**
 * What the timeline keeps between renderings. `gesture`: a press of the pointer, and what was shown when it began.
 * @typedef {object} Own
 * @property {import('./model.js').Row[]} rows
 * @property {number[]} tops where each row begins
 * @property {number} total the height of all rows
 * @property {number} height
 * @property {number} width
 * @property {number} scroll
 * @property {number} from
 * @property {number} until
 * @property {ReturnType<typeof colours>} colours
 * @property {() => void} paint
 * @property {(from: number, until: number) => void} onView
 * @property {(item: import('./model.js').Item) => void} onOpen
 * @property {(item: import('./model.js').Item, from: number) => void} onMove
 * @property {{ x: number, y: number, from: number, until: number, scroll: number, item: import('./model.js').Item |
 *   null, moved: boolean } | null} [gesture]
 * @property {import('./draw.js').View['drag']} [drag]
 * @property {ReturnType<typeof setTimeout>} [settled]
 */

/**
 * @param {{ rows: import('./model.js').Row[], from: number, until: number, onView: (from: number, until: number) =>
 *   void,
 *   onOpen: (item: import('./model.js').Item) => void, onMove: (item: import('./model.js').Item, from: number) => void
 *   }} props
 */
export function Timeline({ rows, from, until, onView, onOpen, onMove }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [tip, setTip] = useState(/** @type {{ x: number, y: number, text: string } | null} */ (null));
  const tops = useMemo(() => {
    let top = 0;
    return rows.map((row) => {
      const own = top;
      top += rowHeight(row);
      return own;
    });
  }, [rows]);
  const total = rows.reduce((sum, row) => sum + rowHeight(row), 0);
  const height = Math.min(HIGHEST, HEADER + total + 1);
  const state = useRef(/** @type {Own} */ ({}));
  Object.assign(state.current, { rows, tops, total, height, onView, onOpen, onMove });
  if (!state.current.gesture) Object.assign(state.current, { from, until });

  useEffect(() => {
    const own = state.current;
    const element = /** @type {HTMLCanvasElement} */ (canvas.current);
    const context = /** @type {CanvasRenderingContext2D} */ (element.getContext('2d'));
    own.scroll = 0;
    own.colours = colours();
    let waiting = 0;
    const paint = () => {
      waiting = 0;
      const ratio = devicePixelRatio;
      const width = element.clientWidth;
      if (element.width !== Math.round(width * ratio) || element.height !== Math.round(own.height * ratio)) {
        element.width = Math.round(width * ratio);
        element.height = Math.round(own.height * ratio);
      }
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      own.width = width;
      own.scroll = Math.max(0, Math.min(own.scroll, own.total - (own.height - HEADER)));
      draw(
        context,
        own.rows,
        own.tops,
        {
          from: own.from,
          until: own.until,
          width,
          height: own.height,
          scroll: own.scroll,
          now: now(),
          drag: own.drag ?? null,
        },
        own.colours,
      );
    };
    own.paint = () => {
      waiting ||= requestAnimationFrame(paint);
    };
    const recolour = () => {
      own.colours = colours();
      own.paint();
    };
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', recolour);
    const observer = new ResizeObserver(own.paint);
    observer.observe(element);
    const timer = setInterval(own.paint, 10_000);
    const end = listen(element, own, setTip);
    return () => {
      end();
      clearInterval(timer);
      observer.disconnect();
      dark.removeEventListener('change', recolour);
      cancelAnimationFrame(waiting);
    };
  }, []);
  useEffect(() => state.current.paint(), [rows, from, until, height]);

  const keys = (/** @type {KeyboardEvent} */ event) => {
    const own = state.current;
    const step = (own.until - own.from) / 4;
    /** @type {Record<string, () => void>} */
    const moves = {
      ArrowLeft: () => shift(own, -step),
      ArrowRight: () => shift(own, step),
      '+': () => zoom(own, 0.5, 0.5),
      '-': () => zoom(own, 2, 0.5),
      ArrowUp: () => void (own.scroll -= 60),
      ArrowDown: () => void (own.scroll += 60),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
    own.paint();
    own.onView(own.from, own.until);
  };
  return html`<div class="timeline" ref=${frame}>
    <canvas ref=${canvas} style=${{ height: `${height}px` }} tabindex="0" role="img" onKeyDown=${keys}
      aria-label="Timeline of reservations and sessions. Arrow keys move it, plus and minus zoom. The list below has the same content."></canvas>
    ${tip ? html`<div class="timeline-tip" style=${{ left: `${tip.x}px`, top: `${tip.y}px` }}>${tip.text}</div>` : null}
  </div>`;
}

/** @param {Own} own @param {number} by in milliseconds */
function shift(own, by) {
  own.from += by;
  own.until += by;
}

/** @param {Own} own @param {number} factor @param {number} place the share of the view that stays where it is */
function zoom(own, factor, place) {
  const length = Math.min(LONGEST, Math.max(SHORTEST, (own.until - own.from) * factor));
  const fixed = own.from + (own.until - own.from) * place;
  own.from = fixed - length * place;
  own.until = own.from + length;
}

/**
 * Reacts to the pointer and the wheel.
 * @param {HTMLCanvasElement} element
 * @param {Own} own the state of the timeline
 * @param {(tip: { x: number, y: number, text: string } | null) => void} setTip
 * @returns {() => void} stops
 */
function listen(element, own, setTip) {
  const left = () => labelWidth(own.width);
  const perPixel = () => (own.until - own.from) / (own.width - left());
  const momentAt = (/** @type {number} */ x) => own.from + (x - left()) * perPixel();

  /** The item at a place of the canvas. @param {number} x @param {number} y */
  const itemAt = (x, y) => {
    if (x < left() || y < HEADER) return null;
    const place = y - HEADER + own.scroll;
    const index = own.tops.findLastIndex((/** @type {number} */ top) => top <= place);
    const row = own.rows[index];
    if (!row) return null;
    const lane = Math.floor((place - own.tops[index] - PADDING) / LANE);
    const slack = 3 * perPixel();
    const found = visible(row, own.from, own.until).find(
      (one) => one.lane === lane && momentAt(x) >= one.item.from - slack && momentAt(x) <= one.item.until + slack,
    );
    return found ?? null;
  };
  const at = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0) return;
    const { x, y } = at(event);
    const found = itemAt(x, y);
    own.gesture = {
      x,
      y,
      from: own.from,
      until: own.until,
      scroll: own.scroll,
      item: found?.item ?? null,
      moved: false,
    };
    element.setPointerCapture(event.pointerId);
    setTip(null);
  };
  const move = (/** @type {PointerEvent} */ event) => {
    const { x, y } = at(event);
    const { gesture } = own;
    if (!gesture) return hover(x, y);
    if (!gesture.moved && Math.hypot(x - gesture.x, y - gesture.y) < SLACK) return;
    gesture.moved = true;
    element.classList.add('dragging');
    const by = (gesture.x - x) * perPixel();
    if (gesture.item?.kind === 'pending') {
      const start = Math.round((gesture.item.from - by) / SNAP) * SNAP;
      own.drag = { item: gesture.item, from: start, until: start + gesture.item.until - gesture.item.from };
      setTip({ x: Math.min(x + 12, own.width - 200), y: y + 12, text: timeWindow(own.drag.from, own.drag.until) });
    } else {
      own.from = gesture.from + by;
      own.until = gesture.until + by;
      own.scroll = gesture.scroll + gesture.y - y;
    }
    own.paint();
  };
  const hover = (/** @type {number} */ x, /** @type {number} */ y) => {
    const found = itemAt(x, y);
    element.style.cursor = found ? 'pointer' : '';
    setTip(
      found
        ? {
            x: Math.min(x + 12, Math.max(0, own.width - 220)),
            y: y + 14,
            text: `${found.item.label}: ${title(found.item.object.status)}, ${timeWindow(found.item.from, found.item.until)}${found.conflict ? '. CONFLICT' : ''}`,
          }
        : null,
    );
  };
  const end = () => {
    const { gesture, drag } = own;
    own.gesture = null;
    own.drag = null;
    element.classList.remove('dragging');
    setTip(null);
    own.paint();
    return { gesture, drag };
  };
  const up = () => {
    const { gesture, drag } = end();
    if (!gesture) return;
    if (!gesture.moved) {
      if (gesture.item) own.onOpen(gesture.item);
    } else if (drag) {
      own.onMove(drag.item, drag.from);
    } else {
      own.onView(own.from, own.until);
    }
  };
  /** The browser has taken over the gesture, to scroll the page: nothing was dragged. */
  const cancel = () => {
    const { gesture } = end();
    if (gesture) Object.assign(own, { from: gesture.from, until: gesture.until, scroll: gesture.scroll });
  };
  const wheel = (/** @type {WheelEvent} */ event) => {
    // The wheel alone scrolls the rows, and the page when there is no more; with Ctrl it zooms, sideways it moves.
    const { x } = at(event);
    if (event.ctrlKey) {
      zoom(own, 1.0015 ** event.deltaY, Math.max(0, (x - left()) / (own.width - left())));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      shift(own, (event.deltaX || event.deltaY) * perPixel());
    } else {
      const before = own.scroll;
      own.scroll = Math.max(0, Math.min(own.scroll + event.deltaY, own.total - (own.height - HEADER)));
      if (own.scroll === before) return;
    }
    event.preventDefault();
    own.paint();
    clearTimeout(own.settled);
    own.settled = setTimeout(() => own.onView(own.from, own.until), 150);
  };
  const leave = () => setTip(null);
  element.addEventListener('pointerdown', down);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', up);
  element.addEventListener('pointercancel', cancel);
  element.addEventListener('pointerleave', leave);
  element.addEventListener('wheel', wheel, { passive: false });
  return () => {
    clearTimeout(own.settled);
    element.removeEventListener('pointerdown', down);
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', up);
    element.removeEventListener('pointercancel', cancel);
    element.removeEventListener('pointerleave', leave);
    element.removeEventListener('wheel', wheel);
  };
}

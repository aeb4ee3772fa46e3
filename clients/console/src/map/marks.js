// Marks on the map, many of them: those that stay the same stay in the page, and all are in one layer of the browser's.

/** How far beyond the visible area marks are drawn, as a share of its size: as far as one drag may go. */
export const AROUND = 1;

/** @import { Layer, LayerGroup, LatLngExpression, Marker, MarkerOptions } from 'leaflet' */
/** @import { Leaflet } from '../../types' */

/** @type {WeakMap<Leaflet, new (at: LatLngExpression, options: MarkerOptions) => Marker>} the class of marks */
const classes = new WeakMap();

/**
 * A marker of Leaflet that is placed by `left` and `top`. Leaflet's own are placed by transforms in space, so that
 * browsers make a layer of each, and composing a thousand layers anew in every frame takes longer than a frame.
 * @param {Leaflet} L
 * @param {[number, number]} at
 * @param {MarkerOptions} options
 */
export function mark(L, at, options) {
  let Mark = classes.get(L);
  if (!Mark) {
    Mark = L.Marker.extend({
      _setPos(/** @type {{ x: number, y: number }} */ position) {
        // Where Leaflet's DomUtil.getPosition looks for it.
        this._icon._leaflet_pos = position;
        this._icon.style.left = `${position.x}px`;
        this._icon.style.top = `${position.y}px`;
        this._zIndex = position.y + this.options.zIndexOffset;
        this._resetZIndex();
      },
    });
    classes.set(L, Mark);
  }
  return new Mark(at, options);
}

/** @type {WeakMap<LayerGroup, Map<string, Layer>>} the marks of a layer by their keys */
const drawn = new WeakMap();

/**
 * Draws marks on a layer in place of those before.
 * @param {LayerGroup} layer a layer group that has nothing but these
 * @param {Map<string, () => Layer>} wanted what makes a mark, by a key that differs wherever the mark looks or does
 *   something else
 */
export function drawMarks(layer, wanted) {
  const marks = drawn.get(layer) ?? new Map();
  drawn.set(layer, marks);
  for (const [key, one] of marks) {
    if (wanted.has(key)) continue;
    layer.removeLayer(one);
    marks.delete(key);
  }
  for (const [key, make] of wanted) {
    if (marks.has(key)) continue;
    const made = make();
    marks.set(key, made);
    layer.addLayer(made);
  }
}

// Groups points that would cover each other on the map.

/** Points closer than this many pixels are in one group. */
const CELL = 64;

/**
 * A point in pixels of the whole world at a zoom, in the projection of web maps.
 * @param {number} latitude
 * @param {number} longitude
 * @param {number} zoom
 */
export function project(latitude, longitude, zoom) {
  const size = 256 * 2 ** zoom;
  const sine = Math.min(0.9999, Math.max(-0.9999, Math.sin((latitude * Math.PI) / 180)));
  return { x: ((longitude + 180) / 360) * size, y: (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * size };
}

/**
 * @template {{ location: { latitude: number, longitude: number } }} T
 * @param {T[]} places
 * @param {number} zoom
 * @returns {{ places: T[], latitude: number, longitude: number }[]} each group with its middle
 */
export function cluster(places, zoom) {
  /** @type {Map<string, T[]>} */
  const cells = new Map();
  for (const place of places) {
    const { x, y } = project(place.location.latitude, place.location.longitude, zoom);
    const key = `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;
    const cell = cells.get(key);
    if (cell) cell.push(place);
    else cells.set(key, [place]);
  }
  return [...cells.values()].map((group) => ({
    places: group,
    latitude: group.reduce((sum, { location }) => sum + location.latitude, 0) / group.length,
    longitude: group.reduce((sum, { location }) => sum + location.longitude, 0) / group.length,
  }));
}

/**
 * Groups places whose labels would cover each other: each belongs to the first group whose label it would touch, and
 * the label stays where the first one is.
 * @template {{ location: { latitude: number, longitude: number } }} T
 * @param {T[]} places
 * @param {number} zoom
 * @param {number} width of a label in pixels
 * @param {number} height
 * @returns {{ places: T[], latitude: number, longitude: number }[]}
 */
export function spread(places, zoom, width, height) {
  /** @type {{ places: T[], latitude: number, longitude: number, x: number, y: number }[]} */
  const groups = [];
  for (const place of places) {
    const { latitude, longitude } = place.location;
    const { x, y } = project(latitude, longitude, zoom);
    const found = groups.find((one) => Math.abs(one.x - x) < width && Math.abs(one.y - y) < height);
    if (found) found.places.push(place);
    else groups.push({ places: [place], latitude, longitude, x, y });
  }
  return groups;
}

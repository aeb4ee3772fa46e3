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

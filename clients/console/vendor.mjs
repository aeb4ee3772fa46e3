// Writes vendor/ from the packages that package.json pins: Preact, htm, Leaflet, and the coastline and borders of Natural Earth.
// Run it after changing a version there:  node vendor.mjs FOLDER, where FOLDER/node_modules has the packages.

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
const DETAIL = 0.006;

const atlas = simplify(presimplify(JSON.parse(read('world-atlas/countries-50m.json'))), DETAIL);
const { countries } = atlas.objects;

/** A line as whole units: the first point, then the distance from each point to the next. */
function encode(line) {
  const points = line.map(([longitude, latitude]) => [Math.round(longitude * SCALE), Math.round(latitude * SCALE)]);
  const moved = points.filter(([x, y], index) => !index || x !== points[index - 1][0] || y !== points[index - 1][1]);
  return moved.flatMap(([x, y], index) => (index ? [x - moved[index - 1][0], y - moved[index - 1][1]] : [x, y]));
}

const rings = merge(atlas, countries.geometries).coordinates.map((polygon) => polygon.map(encode));
const land = rings.map((polygon) => polygon.filter((ring) => ring.length >= 8)).filter((polygon) => polygon.length);
const borders = mesh(atlas, countries, (one, other) => one !== other).coordinates.map(encode);
write(
  'world.js',
  `// The coastline and the borders of Natural Earth 1:50m, simplified; written by vendor.mjs. See world.LICENSE.txt.
// Each line is a list of whole numbers, ${SCALE} to a degree: longitude and latitude of the first point, then the distances from
// each point to the next.
export const SCALE = ${SCALE};
export const LAND = ${JSON.stringify(land)};
export const BORDERS = ${JSON.stringify(borders)};
`,
);

// The types of the console's sources say what a value is: node --test clients/console/tests/types.mjs

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const console = join(dirname(fileURLToPath(import.meta.url)), '..');
const ts = createRequire(join(console, '../../target/tools/console/x.js'))('typescript');

/** The kinds of types that accept everything: `any`, and its forms in JSDoc, `*` and `?`. */
const ANYTHING = new Set([ts.SyntaxKind.AnyKeyword, ts.SyntaxKind.JSDocAllType, ts.SyntaxKind.JSDocUnknownType]);

/**
 * The lines of a file on which such a type stands. The types of JavaScript are in its comments, which are among the
 * children of what they are about.
 * @param {string} name of the file
 * @param {string} text
 */
function linesOfAny(name, text) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found = new Set();
  const look = (node) => {
    if (ANYTHING.has(node.kind)) found.add(file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1);
    for (const comment of node.jsDoc ?? []) look(comment);
    ts.forEachChild(node, look);
  };
  look(file);
  return [...found].sort((one, other) => one - other);
}

test('types that accept everything are found wherever a type may stand', () => {
  const lines = [
    '/** @typedef {{ one: any }} One any text */',
    '/** @param {any[]} list @returns {*} */',
    'export const two = (list) => list.map((/** @type {any} */ one) => `${(/** @type {string} */ any) => any}`);',
    '/** @type {unknown} */',
    "const any = /** @type {Map<string, any>} */ (new Map([['any', 1]]));",
    '/** @template [T=any] @typedef {(one: T) => void} Three */',
  ];
  assert.deepEqual(linesOfAny('example.js', lines.join('\n')), [1, 2, 3, 5, 6]);
});

test('no type of the console is any', () => {
  const files = ['types.d.ts', ...readdirSync(join(console, 'src'), { recursive: true }).map((name) => `src/${name}`)];
  const found = files
    .filter((name) => /\.(js|ts)$/.test(name))
    .flatMap((name) =>
      linesOfAny(name, readFileSync(join(console, name), 'utf8')).map(
        (line) => `${name.replaceAll('\\', '/')}:${line}`,
      ),
    );
  assert.deepEqual(found, []);
});

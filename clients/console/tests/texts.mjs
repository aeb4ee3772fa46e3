// Every text of the console is in every language: node --test clients/console/tests/texts.mjs

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keyOf, t } from '../src/i18n.js';
import german from '../src/languages/de.js';
import { replaceTexts } from '../src/ui/texts.js';

const console = join(dirname(fileURLToPath(import.meta.url)), '..');
const ts = createRequire(join(console, '../../target/tools/console/x.js'))('typescript');

/** The strings of a template. @param {any} template */
const stringsOf = (template) => (ts.isNoSubstitutionTemplateLiteral(template) ? [template.text] : [template.head.text, ...template.templateSpans.map((span) => span.literal.text)]);

/** The keys of all texts, with the files that have them. */
function keys() {
  const found = new Map();
  for (const file of readdirSync(join(console, 'src'), { recursive: true }).filter((name) => name.endsWith('.js') && !name.startsWith('languages'))) {
    const add = (key) => key.trim() && found.set(key.trim(), file);
    const visit = (node) => {
      if (ts.isTaggedTemplateExpression(node)) {
        const tag = node.tag.getText();
        if (tag === 'html') replaceTexts(stringsOf(node.template), (key) => (add(key), key));
        if (tag === 't') add(keyOf(stringsOf(node.template)));
      } else if (ts.isCallExpression(node) && node.expression.getText() === 't' && ts.isStringLiteralLike(node.arguments[0])) add(node.arguments[0].text);
      else if (ts.isStringLiteral(node) && node.text.startsWith('{0, plural,')) add(node.text);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, readFileSync(join(console, 'src', file), 'utf8'), ts.ScriptTarget.Latest, true, ts.ScriptKind.JS));
  }
  return found;
}

/** The numbers of the values in a text. @param {string} text */
const values = (text) => [...new Set([...text.matchAll(/\{(\d+)/g)].map(([, number]) => number))].sort().join();

test('every text has a German one with the same values', () => {
  const all = keys();
  assert.ok(all.size > 900, `${all.size} texts were found`);
  const missing = [...all].filter(([key]) => !(key in german)).map(([key, file]) => `${file}: ${key}`);
  assert.deepEqual(missing, []);
  assert.deepEqual([...all.keys()].filter((key) => values(key) !== values(german[key])), []);
});

test('the statuses of the API and the names of fields have German words', () => {
  const api = JSON.parse(readFileSync(join(console, '../../api/openapi.json'), 'utf8'));
  const statuses = Object.values(api.components.schemas).flatMap((schema) => {
    const status = schema.properties?.status;
    const target = status?.$ref ? api.components.schemas[status.$ref.split('/').pop()] : status;
    return target?.enum ?? [];
  }).filter((one) => typeof one === 'string');
  assert.ok(statuses.length > 20);
  assert.deepEqual([...new Set(statuses)].map((one) => one.replaceAll('_', ' ')).filter((one) => !(one in german)), []);
});

test('the texts of a template are found with their values, and code is none', () => {
  const parse = (strings, ...holes) => {
    const found = [];
    const { strings: parts, order } = replaceTexts(strings, (key) => (found.push(key), key === 'Of {0} until {1}' ? 'Bis {1} von {0}' : key));
    return [found, parts.reduce((text, part, place) => `${text}${holes[order[place - 1]]}${part}`)];
  };
  assert.deepEqual(parse`<p title="A title" class="none">Of ${1} until ${2}</p>`, [['A title', 'Of {0} until {1}'], '<p title="A title" class="none">Bis 2 von 1</p>']);
  assert.deepEqual(parse`<p>${1}
    More</p><code>GET it</code>`, [['More'], '<p>1\n    More</p><code>GET it</code>']);
  assert.deepEqual(parse`<i>${1} %</i>`, [[], '<i>1 %</i>']);
});

test('a text chooses by a number, and keeps white space and values', () => {
  assert.equal(t('{0, plural, one {# vehicle} other {# vehicles}}', 1), '1 vehicle');
  assert.equal(t('{0, plural, =0 {none} one {# of {1}} other {# of {1}}}', 1200, 'x'), '1,200 of x');
  assert.equal(t('{0, plural, =0 {none} other {#}}', 0), 'none');
  assert.equal(t` and ${'{1}'} ${2} `, ' and {1} 2 ');
});

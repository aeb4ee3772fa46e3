// Every text of the console is in every language: node --test clients/console/tests/texts.mjs

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keyOf, t } from '../src/i18n.js';
import first from '../src/languages/de.js';
import hints from '../src/languages/de-hints.js';
import others from '../src/languages/de-pages.js';
import { firstSentence, helpOf, inOrder, labelOf } from '../src/forms/fields.js';
import { replaceTexts } from '../src/ui/texts.js';

// The chosen time zone is kept in the storage of a tab, and changes are sent to the other tabs.
Object.assign(globalThis, { sessionStorage: { getItem: () => null, setItem: () => {} } });
Reflect.deleteProperty(globalThis, 'BroadcastChannel');
const { bodyOf } = await import('../src/forms/schema.js');

const console = join(dirname(fileURLToPath(import.meta.url)), '..');
const ts = createRequire(join(console, '../../target/tools/console/x.js'))('typescript');

const german = { ...first, ...others };

/** The strings of a template. @param {any} template */
const stringsOf = (template) =>
  ts.isNoSubstitutionTemplateLiteral(template)
    ? [template.text]
    : [template.head.text, ...template.templateSpans.map((span) => span.literal.text)];

/** The files that the first page loads: what main.js imports, without what is imported when it is needed. */
function firstFiles(file = 'main.js', found = new Set()) {
  if (found.has(file) || file.startsWith('..')) return found;
  found.add(file);
  const imports = readFileSync(join(console, 'src', file), 'utf8').matchAll(/^(?:import|export) .* from '([^']+)';$/gm);
  for (const [, path] of imports) firstFiles(join(dirname(file), path), found);
  return found;
}

/** The keys of all texts, with the files that have them. */
function keys() {
  const found = new Map();
  for (const file of readdirSync(join(console, 'src'), { recursive: true }).filter(
    (name) => name.endsWith('.js') && !name.startsWith('languages'),
  )) {
    const add = (key) => key.trim() && found.set(key.trim(), [...(found.get(key.trim()) ?? []), file]);
    const visit = (node) => {
      if (ts.isTaggedTemplateExpression(node)) {
        const tag = node.tag.getText();
        if (tag === 'html') replaceTexts(stringsOf(node.template), (key) => (add(key), key));
        if (tag === 't') add(keyOf(stringsOf(node.template)));
      } else if (
        ts.isCallExpression(node) &&
        node.expression.getText() === 't' &&
        ts.isStringLiteralLike(node.arguments[0])
      )
        add(node.arguments[0].text);
      else if (ts.isStringLiteral(node) && node.text.startsWith('{0, plural,')) add(node.text);
      ts.forEachChild(node, visit);
    };
    visit(
      ts.createSourceFile(
        file,
        readFileSync(join(console, 'src', file), 'utf8'),
        ts.ScriptTarget.Latest,
        true,
        ts.ScriptKind.JS,
      ),
    );
  }
  return found;
}

/** The numbers of the values in a text. @param {string} text */
const values = (text) => [...new Set([...text.matchAll(/\{(\d+)/g)].map(([, number]) => number))].sort().join();

test('every text has a German one with the same values', () => {
  const all = keys();
  assert.ok(all.size > 900, `${all.size} texts were found`);
  const missing = [...all].filter(([key]) => !(key in german)).map(([key, files]) => `${files[0]}: ${key}`);
  assert.deepEqual(missing, []);
  assert.deepEqual(
    [...all.keys()].filter((key) => values(key) !== values(german[key])),
    [],
  );
});

test('the first page has its own texts, and those of other pages are in another file', () => {
  // The first page of somebody who is not signed in is the sign-in.
  const files = firstFiles('pages/sign-in.js', firstFiles());
  assert.ok(files.has('pages/overview.js') && !files.has('pages/map.js'));
  const isFirst = ([, where]) => where.some((file) => files.has(file));
  const all = [...keys()];
  assert.deepEqual(
    all.filter((one) => isFirst(one) && !(one[0] in first)).map(([key]) => key),
    [],
  );
  assert.deepEqual(
    all.filter((one) => !isFirst(one) && one[0] in first).map(([key]) => key),
    [],
  );
  assert.deepEqual(
    Object.keys(first).filter((key) => key in others),
    [],
  );
});

test('the texts of a language are in alphabetical order', () => {
  for (const texts of [first, others, hints]) assert.deepEqual(Object.keys(texts), Object.keys(texts).sort());
});

test('the statuses of the API and the names of fields have German words', () => {
  const api = JSON.parse(readFileSync(join(console, '../../api/openapi.json'), 'utf8'));
  const statuses = Object.values(api.components.schemas)
    .flatMap((schema) => {
      const status = schema.properties?.status;
      const target = status?.$ref ? api.components.schemas[status.$ref.split('/').pop()] : status;
      return target?.enum ?? [];
    })
    .filter((one) => typeof one === 'string');
  assert.ok(statuses.length > 20);
  const missing = (values, texts) => values.map((one) => one.replaceAll('_', ' ')).filter((one) => !(one in texts));
  assert.deepEqual(missing([...new Set(statuses)], german), []);
  // The overview says why a reservation failed, and the top of every page what is wrong with the account.
  const { FailedReason: reasons, AccountStatus: standings } = api.components.schemas;
  assert.deepEqual(missing([...reasons.enum, ...standings.enum], first), []);
});

/** The lists for whose objects there are forms. */
const FORMS = [
  'api_keys',
  'charge_cards',
  'drivers',
  'fleets',
  'invoices',
  'payment_methods',
  'policies',
  'reports',
  'sites',
  'vehicles',
  'webhook_endpoints',
];

test('every field of a form has a German name and hint, and no other hint is kept', () => {
  const api = JSON.parse(readFileSync(join(console, '../../api/openapi.json'), 'utf8'));
  const sentences = new Set();
  const names = new Set();
  const add = (shape, place) => {
    if (shape.description && !helpOf(place)) sentences.add(firstSentence(shape.description.replaceAll('`', '')));
    for (const field of inOrder(shape.fields ?? [])) names.add(labelOf(field.name));
    for (const field of inOrder(shape.fields ?? [])) add(field, place ? `${place}.${field.name}` : field.name);
    if (shape.items) add(shape.items.type === 'object' ? shape.items : { fields: shape.items.fields }, place);
  };
  for (const path of FORMS.flatMap((name) => [`/v1/${name}`, `/v1/${name}/{id}`]))
    if (api.paths[path]?.post) add({ fields: bodyOf(api, path, 'post').fields }, '');
  assert.deepEqual(
    [...names].filter((name) => !(name in german)),
    [],
  );
  sentences.delete('');
  assert.ok(sentences.size > 100);
  assert.deepEqual(Object.keys(hints), [...sentences].sort());
});

test('the texts of a template are found with their values, and code is none', () => {
  const parse = (strings, ...holes) => {
    const found = [];
    const { strings: parts, order } = replaceTexts(
      strings,
      (key) => (found.push(key), key === 'Of {0} until {1}' ? 'Bis {1} von {0}' : key),
    );
    return [found, parts.reduce((text, part, place) => `${text}${holes[order[place - 1]]}${part}`)];
  };
  assert.deepEqual(parse`<p title="A title" class="none">Of ${1} until ${2}</p>`, [
    ['A title', 'Of {0} until {1}'],
    '<p title="A title" class="none">Bis 2 von 1</p>',
  ]);
  assert.deepEqual(
    parse`<p>${1}
    More</p><code>GET it</code>`,
    [['More'], '<p>1\n    More</p><code>GET it</code>'],
  );
  assert.deepEqual(parse`<i>${1} %</i>`, [[], '<i>1 %</i>']);
});

test('a text chooses by a number, and keeps white space and values', () => {
  assert.equal(t('{0, plural, one {# vehicle} other {# vehicles}}', 1), '1 vehicle');
  assert.equal(t('{0, plural, =0 {none} one {# of {1}} other {# of {1}}}', 1200, 'x'), '1,200 of x');
  assert.equal(t('{0, plural, =0 {none} other {#}}', 0), 'none');
  assert.equal(t` and ${'{1}'} ${2} `, ' and {1} 2 ');
});

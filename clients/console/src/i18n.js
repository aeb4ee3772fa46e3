// Texts in the language of the user. English texts are their own keys; `languages/<language>.js` has those of
// the first page in another language, and `languages/<language>-pages.js` those of all other pages. `t("Save")` and
// t`Delete ${name}?`, whose key is "Delete {0}?", are texts in code; the texts of html`…` are translated by ui/html.js
// with the same keys. A text may choose by a number: t('{0, plural, one {# vehicle} other {# vehicles}}', count), as in
// ICU's MessageFormat.

const STORED = 'service-console-language';

/** The languages that can be chosen, by their own names. @type {Record<string, string>} */
export const LANGUAGES = { en: 'English', de: 'Deutsch' };

/** The languages of the browser; none where the logic is tested without one. */
const browser = globalThis.navigator?.languages ?? [];

/** The language that was chosen in this browser, or the first of the browser's that there is. @returns {string} */
function chosen() {
  const stored = globalThis.localStorage?.getItem(STORED);
  const known = [stored, ...browser.map((one) => one.split('-')[0])].find((one) => one && one in LANGUAGES);
  return known ?? 'en';
}

export const language = chosen();

/** The language with its region, for dates and numbers: the browser's, where that is of the same language. */
export const locale =
  browser.find((one) => one.split('-')[0] === language) ?? { en: 'en-GB', de: 'de-DE' }[language] ?? language;

/** @type {Record<string, string>} */
const texts = language === 'en' ? {} : (await import(`./languages/${language}.js`)).default;
if (globalThis.document) document.documentElement.lang = language;

/** @type {Promise<unknown> | null} */
let others = null;

/** Loads the texts that are not on the first page, before a module that has them. */
export function moreTexts() {
  others ??=
    language === 'en'
      ? Promise.resolve()
      : import(`./languages/${language}-pages.js`).then((module) => Object.assign(texts, module.default));
  return others.catch((error) => {
    others = null;
    throw error;
  });
}

/**
 * Another language from now on: the page is loaded again, since every text is made of the texts of one language.
 * @param {string} next
 */
export function choose(next) {
  localStorage.setItem(STORED, next);
  location.reload();
}

const rules = new Intl.PluralRules(locale);
const numbers = new Intl.NumberFormat(locale);

/** The place after the brace that closes the one before `from`. @param {string} text @param {number} from */
function closing(text, from) {
  for (let at = from, depth = 1; at < text.length; at += 1) {
    depth += { '{': 1, '}': -1 }[text[at]] ?? 0;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/**
 * The branch of a plural for a number.
 * @param {string} branches such as "one {# day} other {# days}"
 * @param {number} count
 */
function plural(branches, count) {
  /** @type {Record<string, string>} */
  const found = {};
  for (let rest = branches.trim(); rest;) {
    const open = rest.indexOf('{');
    if (open < 0) break;
    const end = closing(rest, open + 1);
    found[rest.slice(0, open).trim()] = rest.slice(open + 1, end - 1);
    rest = rest.slice(end).trim();
  }
  return (found[`=${count}`] ?? found[rules.select(count)] ?? found.other ?? '').replaceAll('#', numbers.format(count));
}

/**
 * A message with its values.
 * @param {string} message
 * @param {unknown[]} values
 * @returns {string}
 */
function filled(message, values) {
  let text = '';
  for (let at = 0; at < message.length;) {
    const open = message.indexOf('{', at);
    if (open < 0) return text + message.slice(at);
    const end = closing(message, open + 1);
    const [, name, branches] = /^(\d+)(?:,\s*plural,(.*))?$/s.exec(message.slice(open + 1, end - 1)) ?? [];
    const value =
      name === undefined
        ? message.slice(open, end)
        : branches === undefined
          ? String(values[Number(name)] ?? '')
          : filled(plural(branches, Number(values[Number(name)])), values);
    text += message.slice(at, open) + value;
    at = end;
  }
  return text;
}

/** The text of a key; the key where the language has none. @param {string} key */
export const textOf = (key) => texts[key] ?? key;

/** The key of a template: its values are numbered. @param {readonly string[]} strings */
export const keyOf = (strings) => strings.reduce((key, part, index) => `${key}{${index - 1}}${part}`);

/**
 * A text in the language of the user. White space around it is kept.
 * @param {string | TemplateStringsArray} text
 * @param {...unknown} values
 * @returns {string}
 */
export function t(text, ...values) {
  const whole = typeof text === 'string' ? text : keyOf(text);
  const key = whole.trim();
  const found = textOf(key);
  const message = key === whole ? found : whole.replace(key, () => found);
  return values.length ? filled(message, values) : message;
}

// The texts of a template: what is between its tags, and the attributes that people read or hear.

/** Attributes that are texts. */
const ATTRIBUTES = new Set([
  'title',
  'label',
  'placeholder',
  'caption',
  'hint',
  'intro',
  'question',
  'what',
  'aria-label',
  'alt',
  'submit',
  'unit',
  'name',
]);

/** Elements in which nothing is text of ours. */
const CODE = new Set(['code', 'kbd', 'pre']);

/** Where a value stands in a template while its texts are looked for: a character of private use before its number. */
const HOLE = '\uE000';
const HOLES = /\uE000(\d+)\uE001/g;

/** Whether a text has a word, besides its values. @param {string} text */
const hasWord = (text) => /\p{L}{2}/u.test(text.replace(HOLES, ''));

/**
 * Replaces every text of a template.
 * @param {readonly string[]} strings
 * @param {(key: string) => string} translate a text with its values numbered: "Loading {0}…"
 * @returns {{ strings: string[], order: number[] }} the other template, and which value stands in each of its places
 */
export function replaceTexts(strings, translate) {
  const whole = strings.reduce((text, part, index) => `${text}${HOLE}${index - 1}\uE001${part}`);
  let result = '';
  let code = 0;
  for (const [piece] of whole.matchAll(/<[^>]*>|[^<]+/g)) {
    if (!piece.startsWith('<')) {
      result += code ? piece : replaceRun(piece, translate);
      continue;
    }
    const [, closes, element] = /^<(\/?)([\w-]*)/.exec(piece) ?? [];
    if (CODE.has(element)) code += closes ? -1 : 1;
    result += piece.replace(/ ([\w-]+)="([^"]+)"/g, (all, name, value) =>
      ATTRIBUTES.has(name) && /\p{L}{2}/u.test(value) && !value.includes(HOLE)
        ? ` ${name}="${translate(value).replaceAll('"', '″')}"`
        : all,
    );
  }
  /** @type {number[]} */
  const order = [];
  const parts = [''];
  let at = 0;
  for (const { 0: hole, 1: number, index } of result.matchAll(HOLES)) {
    parts[parts.length - 1] += result.slice(at, index);
    parts.push('');
    order.push(Number(number));
    at = index + hole.length;
  }
  parts[parts.length - 1] += result.slice(at);
  return { strings: parts, order };
}

/**
 * Replaces the texts between two tags; a line that begins or ends with a value is a text of its own.
 * @param {string} run
 * @param {(key: string) => string} translate
 */
function replaceRun(run, translate) {
  return run
    .split(/(\s*\n\s*)/)
    .map((line) => {
      if (!hasWord(line)) return line;
      const [, before, text, after] = /** @type {RegExpExecArray} */ (/^(\s*)(.*?)(\s*)$/s.exec(line));
      /** @type {string[]} */
      const numbers = [];
      const key = text.replace(HOLES, (_, number) => `{${numbers.push(number) - 1}}`);
      return (
        before + translate(key).replace(/\{(\d+)\}/g, (_, place) => `${HOLE}${numbers[Number(place)]}\uE001`) + after
      );
    })
    .join('');
}

// What every module of the user interface builds on: Preact's functions, and templates in place of JSX.

import { Fragment, h, render } from '../../vendor/preact.js';
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import htm from '../../vendor/htm.js';
import { language, textOf } from '../i18n.js';
import { replaceTexts } from './texts.js';

/** @import { Elements } from '../../types' */

const elements = /** @type {(strings: readonly string[], ...values: unknown[]) => Elements} */ (htm.bind(h));

/**
 * Templates in the language of the user.
 * @type {WeakMap<readonly string[], { strings: readonly string[], order: number[] }>}
 */
const translated = new WeakMap();

/**
 * Makes elements from a template, with its texts in the language of the user. Values are inserted as text or as
 * properties, never as markup.
 * @type {(strings: readonly string[], ...values: unknown[]) => Elements}
 */
export const html =
  language === 'en'
    ? elements
    : (strings, ...values) => {
        const known = translated.get(strings) ?? replaceTexts(strings, textOf);
        translated.set(strings, known);
        return elements(known.strings, ...known.order.map((place) => values[place]));
      };

export { Fragment, h, render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };

// What every module of the user interface builds on: Preact's functions, and templates in place of JSX.

import { Fragment, h, render } from '../../vendor/preact.js';
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from '../../vendor/hooks.js';
import htm from '../../vendor/htm.js';

/**
 * Makes elements from a template. Values are inserted as text or as properties, never as markup.
 * @type {(strings: TemplateStringsArray, ...values: any[]) => any}
 */
export const html = htm.bind(h);

export { Fragment, h, render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };

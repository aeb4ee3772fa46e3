// The time zone in which moments are shown and entered: the browser's, or one that the user has chosen for this visit.

import { createStore } from './store.js';

const STORED = 'service-console-zone';

/** The browser's time zone, such as "Europe/London". */
export const own = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The chosen time zone. */
export const zone = createStore(sessionStorage.getItem(STORED) ?? own);

zone.subscribe((next) => sessionStorage.setItem(STORED, next));

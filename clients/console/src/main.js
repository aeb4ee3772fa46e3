// Starts the console: reads how it is set up, signs in where that needs nobody, and shows the application.

import { html, render } from './ui/html.js';
import { App } from './app.js';
import { loadConfiguration, session, signInAtRunner } from './state/session.js';
import { readClock } from './state/clock.js';
import { pushed, startNotices } from './api/notices.js';

await loadConfiguration();
if (!session.get()) await signInAtRunner();
await startNotices();
if (!pushed.get()) await readClock().catch(() => {});
const root = document.getElementById('app');
if (root) {
  addEventListener('keydown', () => import('./ui/focus.js').then(({ keepFocus }) => keepFocus()), { once: true });
  root.replaceChildren();
  render(html`<${App} />`, root);
}

// What a page asked the API, as command lines.

import { t } from '../i18n.js';
import { html } from './html.js';
import { curl } from '../api/commands.js';
import { CopyButton } from './elements.js';

/** @param {{ requests: import('../../types').SentRequest[] }} props */
export const RequestList = ({ requests }) => html`<p class="hint">Set the variable first: <code>KEY=sk_…</code></p>
    <ul>${requests.map(
      (one) => html`<li key=${one.id}>
      <p><strong>${one.method}</strong> <code>${one.path}</code> → ${one.status ?? t('no response')}, ${one.milliseconds} ms
        <${CopyButton} text=${curl(one, true)} what="curl command with the key">Copy as curl</${CopyButton}></p>
      <pre tabindex="0" role="region" aria-label=${t`curl command of ${one.method} ${one.path}`}>${curl(one)}</pre>
    </li>`,
    )}</ul>`;

// The requests that the local runner has answered, of every client.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { local } from '../../api/client.js';
import { useRead } from '../../api/resource.js';
import { Empty, Field, Id, PageHead, Time } from '../../ui/elements.js';
import { ResourceError } from '../../ui/errors.js';
import { Table } from '../../ui/list.js';
import { number } from '../../format.js';

/** @typedef {import('../../../types').AnsweredRequest} AnsweredRequest */

export function RequestLog() {
  const log = useRead((signal) => local('GET', '/_local/requests', undefined, signal), [], {
    every: 2000,
    // Requests that only read change nothing that there would be a notice of.
    ages: () => 30_000,
  });
  const [text, setText] = useState('');
  const all = log.data?.data ?? [];
  const rows = all.filter((one) => JSON.stringify(one).toLowerCase().includes(text.toLowerCase()));
  const columns = [
    { label: t('When'), cell: (/** @type {AnsweredRequest} */ one) => html`<${Time} at=${one.time} />` },
    {
      label: t('Request'),
      cell: (/** @type {AnsweredRequest} */ one) => html`<strong>${one.method}</strong> <code>${one.path}</code>`,
    },
    {
      label: t('Status'),
      number: true,
      cell: (/** @type {AnsweredRequest} */ one) =>
        html`<span class=${`badge ${one.status < 400 ? 'good' : 'bad'}`}>${one.status}</span>`,
    },
    { label: t('Time'), number: true, cell: (/** @type {AnsweredRequest} */ one) => `${number(one.duration_ms)} ms` },
    {
      label: 'Id',
      cell: (/** @type {AnsweredRequest} */ one) => (one.request ? html`<${Id} id=${one.request} />` : '–'),
    },
  ];
  return html`<${PageHead} title="Request log" intro="What the local runner has answered, of every client. The console's own requests are among them." />
    <div class="filters"><${Field} label="Search">${(/** @type {string} */ id) => html`<input id=${id} type="search" value=${text} onInput=${(/** @type {InputChange} */ event) => setText(event.currentTarget.value)} />`}</${Field}></div>
    <${ResourceError} resource=${log} />
    ${log.data ? (rows.length ? html`<${Table} caption="Requests" columns=${columns} rows=${rows} rowKey=${(/** @type {AnsweredRequest} */ one) => String(one.number)} />` : html`<${Empty} title="No request matches" />`) : null}`;
}

// Reading the events of an endpoint of the type polling: the command line, and a look at what a program would be given.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { quoted } from '../../api/commands.js';
import { useAction } from '../../api/resource.js';
import { CopyButton, Field, Select, Time } from '../../ui/elements.js';
import { ErrorNotice } from '../../ui/errors.js';
import { Table } from '../../ui/list.js';
import { Ref, objectOf } from '../../ui/objects.js';
import { link } from '../../router.js';
import { now } from '../../state/clock.js';
import { session } from '../../state/session.js';

/** @typedef {import('../../../types').Event} ServiceEvent */

/** How many events a look shows. */
const SHOWN = 20;

const HOUR = 3_600_000;

/** Since when events are looked at. @type {[string, string][]} */
const SINCE = [
  ['1', t('the last hour')],
  ['24', t('the last day')],
  ['168', t('the last week')],
];

/** @param {{ endpoint: import('../../../types').WebhookEndpoint }} props */
export function Polling({ endpoint }) {
  const path = /** @type {const} */ (`/v1/webhook_endpoints/${endpoint.id}/events`);
  const [hours, setHours] = useState('1');
  const [page, setPage] = useState(/** @type {import('../../../types').EventFeed | null} */ (null));
  const look = useAction(async () =>
    setPage(
      await request('GET', address(path, { from: new Date(now() - Number(hours) * HOUR).toISOString(), limit: SHOWN })),
    ),
  );
  const command = `curl -s -H "Authorization: Bearer $KEY" ${quoted(`${session.get()?.api || location.origin}${path}?wait=20`)}`;
  const columns = [
    {
      label: t('Type'),
      cell: (/** @type {ServiceEvent} */ one) =>
        html`<a href=${link(`/developers/events/${one.id}`)}><code>${one.type}</code></a>`,
    },
    {
      label: t('Object'),
      cell: (/** @type {ServiceEvent} */ one) => html`<${Ref} to=${objectOf(one)?.id} />`,
    },
    { label: t('Number'), number: true, cell: (/** @type {ServiceEvent} */ one) => one.sequence },
    { label: t('Created'), cell: (/** @type {ServiceEvent} */ one) => html`<${Time} at=${one.created} />` },
  ];
  return html`<section class="card"><header><h2>Reading the events</h2><${CopyButton} text=${command} what="curl command">Copy as curl</${CopyButton}></header>
    <p class="hint">Nothing is sent to this endpoint. A program reads its events, and keeps the cursor of each response for the next request. A look here moves no cursor.</p>
    <div class="row"><${Field} label="Events of">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${hours} onChange=${setHours} options=${SINCE} />`}</${Field}>
      <button type="button" disabled=${look.busy} onClick=${() => look.run()}>${look.busy ? t('Reading…') : t('Look')}</button></div>
    ${look.error ? html`<${ErrorNotice} error=${look.error} />` : null}
    ${page ? (page.data.length ? html`<${Table} caption="Events of the endpoint" columns=${columns} rows=${page.data} />${page.has_more ? html`<p class="hint">The first ${SHOWN}; there are more.</p>` : null}` : html`<p class="hint" role="status">There was no event. An event is shown some ten seconds after it has happened.</p>`) : null}
  </section>`;
}

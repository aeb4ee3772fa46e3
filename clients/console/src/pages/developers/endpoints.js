// Webhook endpoints with their health, and the deliveries of one.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { nullIfMissing, useAction, useList, useRead, useResource } from '../../api/resource.js';
import { ConfirmButton } from '../../ui/confirm.js';
import { CopyButton, Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { ListView, PageButtons } from '../../ui/list.js';
import { Ref } from '../../ui/objects.js';
import { statusChange } from '../../api/bulk.js';
import { SchemaForm } from '../../forms/schema-form.js';
import { openApi, valuesOf } from '../../forms/schema.js';
import { hasTestClock } from '../../state/clock.js';
import { go, link, setQuery } from '../../router.js';
import { toast } from '../../ui/toasts.js';
import { number } from '../../format.js';
import { DeliveryCard } from './deliveries.js';
import { HealthCard, SuccessRate } from './health.js';
import { Polling } from './polling.js';
import { Replay } from './replay.js';

/** @typedef {import('../../../types').WebhookEndpoint} WebhookEndpoint */

const PATH = '/v1/webhook_endpoints';

/** How often the health of each endpoint of the list is read, in milliseconds. */
const HEALTH = 60_000;

/** How much of an object the events show, in words. @type {Record<string, string>} */
const PAYLOADS = { snapshot: t('the whole object, as it was'), thin: t('the id of the object only') };

/** @param {{ id?: string, route: import('../../router.js').Route }} props */
export function Endpoints({ id, route }) {
  return id ? html`<${Endpoint} id=${id} route=${route} />` : html`<${List} route=${route} />`;
}

/**
 * The health of an endpoint of a list, which the API shows of one endpoint at a time.
 * @param {{ endpoint: WebhookEndpoint }} props
 */
function Health({ endpoint }) {
  const read = useRead((signal) => request('GET', `${PATH}/${endpoint.id}`, undefined, { signal }), [endpoint.id], {
    every: HEALTH,
  });
  if (read.error) return html`<span class="badge bad">unknown</span>`;
  return read.data ? html`<${SuccessRate} endpoint=${read.data} />` : null;
}

/** What can be done with many endpoints. @type {import('../../api/bulk.js').BulkAction<WebhookEndpoint>[]} */
const ACTIONS = [
  {
    label: t('Disable'),
    question: t('Nothing is sent to the chosen endpoints until they are enabled again.'),
    applies: ({ status }) => status === 'enabled',
    ...statusChange(PATH, 'disabled'),
  },
  {
    label: t('Enable'),
    question: t('Events are sent to the chosen endpoints again.'),
    applies: ({ status }) => status === 'disabled',
    ...statusChange(PATH, 'enabled'),
  },
];

/** @param {{ route: import('../../router.js').Route }} props */
function List({ route }) {
  const list = useList(`${PATH}?limit=25`, { every: 10_000 });
  const columns = [
    {
      label: 'URL',
      cell: (/** @type {WebhookEndpoint} */ one) =>
        html`<a href=${link(`/developers/endpoints/${one.id}`)}>${one.url ?? t('Read by polling')}</a>`,
    },
    { label: t('Status'), cell: (/** @type {WebhookEndpoint} */ one) => html`<${Status} value=${one.status} />` },
    { label: t('Health'), cell: (/** @type {WebhookEndpoint} */ one) => html`<${Health} endpoint=${one} />` },
    {
      label: t('Events'),
      cell: (/** @type {WebhookEndpoint} */ one) =>
        one.enabled_events.includes('*')
          ? t('all')
          : t('{0, plural, one {# type} other {# types}}', one.enabled_events.length),
    },
    { label: t('Description'), cell: (/** @type {WebhookEndpoint} */ one) => one.description ?? '–' },
  ];
  const create = () => setQuery({ new: 1 });
  const initial = { enabled_events: ['*'], ...(hasTestClock() ? { url: `${location.origin}/_local/inbox` } : {}) };
  const empty = html`<${Empty} title="No webhook endpoint yet"><p>Events are sent to an endpoint, an address of yours.${hasTestClock() ? t(' The inbox of the local runner can stand in for it.') : ''}</p>
    <button type="button" class="primary" onClick=${create}>Add an endpoint</button></${Empty}>`;
  return html`<${PageHead} title="Webhook endpoints"><button type="button" class="primary" onClick=${create}>Add an endpoint</button></${PageHead}>
    ${
      route.query.get('new')
        ? html`<${Dialog} wide title="Add an endpoint" onClose=${() => setQuery({ new: null })}><${SchemaForm} path=${PATH} submit="Add the endpoint" initial=${initial}
      onDone=${(/** @type {WebhookEndpoint} */ made) => go(link(`/developers/endpoints/${made.id}`))} /></${Dialog}>`
        : null
    }
    <${ListView} main list=${list} caption="Webhook endpoints" columns=${columns} empty=${empty} actions=${ACTIONS} />`;
}

/** @param {{ id: string, route: import('../../router.js').Route }} props */
function Endpoint({ id, route }) {
  const path = /** @type {const} */ (`${PATH}/${encodeURIComponent(id)}`);
  const resource = useResource(path, { every: 5000 });
  const [editing, setEditing] = useState(false);
  const [shown, setShown] = useState(false);
  const test = useAction((key) => request('POST', `${path}/test`, {}, { idempotencyKey: key }));
  const rotate = useAction((key) => request('POST', `${path}/rotate_secret`, {}, { idempotencyKey: key }));
  const remove = useAction((key) => request('DELETE', path, undefined, { idempotencyKey: key }));
  const endpoint = resource.data;
  const polling = endpoint?.type === 'polling';
  if (!endpoint) return html`<${PageHead} title="Webhook endpoint" /><${ResourceError} resource=${resource} />`;
  const done = async (/** @type {Promise<unknown>} */ work, /** @type {string} */ text) => {
    if (await work) toast(text);
  };
  const deleteIt = async () => {
    if (await remove.run()) go('#/developers/endpoints');
  };
  return html`<${PageHead} title=${endpoint.url ?? t('Polling endpoint')}><${Status} value=${endpoint.status} />
      <button type="button" class="primary" disabled=${test.busy} onClick=${() => done(test.run(), polling ? t('A ping will be among the events.') : t('A ping is on its way.'))}>Send a ping</button>
      <button type="button" onClick=${() => setEditing(true)}>Edit</button>
      ${polling ? null : html`<${ConfirmButton} label="Rotate the secret" question="A new secret signs at once. The previous secret keeps signing for 24 hours." onConfirm=${() => done(rotate.run(), t('The secret was rotated.'))} />`}
      <${ConfirmButton} danger label="Delete" question="The endpoint is deleted with what is still to be delivered to it." trial=${{ method: 'DELETE', path }} onConfirm=${deleteIt} /></${PageHead}>
    <${ResourceError} resource=${resource} />
    ${[test.error, rotate.error, remove.error].map((error) => error && html`<${ErrorNotice} error=${error} />`)}
    ${
      editing
        ? html`<${Dialog} wide title="Edit the endpoint" onClose=${() => setEditing(false)}><${SchemaForm} path=${`${PATH}/{id}`} at=${path} original=${endpoint} submit="Save"
      onDone=${() => setEditing(false)} /></${Dialog}>`
        : null
    }
    ${polling ? null : html`<${HealthCard} endpoint=${endpoint} />`}
    <section class="card"><h2>Settings</h2><${Facts} of=${[
      [t('Type'), polling ? t('Polling: a program reads the events') : t('Webhook: events are sent')],
      [t('Description'), endpoint.description],
      [t('Application'), endpoint.application],
      [
        t('Events'),
        endpoint.enabled_events.includes('*')
          ? t('all')
          : html`<ul class="plain-list">${endpoint.enabled_events.map((/** @type {string} */ one) => html`<li key=${one}><code>${one}</code></li>`)}</ul>`,
      ],
      [t('Fleets'), endpoint.fleets.length ? html`<${FleetNames} ids=${endpoint.fleets} />` : t('all')],
      [t('Payload'), PAYLOADS[endpoint.payload] ?? endpoint.payload],
      [
        t('Order'),
        endpoint.ordered ? t('the events of an object follow one another') : t('as fast as possible, in any order'),
      ],
      [t('Version'), endpoint.api_version],
      polling
        ? null
        : [t('Limit'), endpoint.max_per_second ? t`${number(endpoint.max_per_second)} requests per second` : t('none')],
      polling
        ? null
        : [
            t('Headers'),
            Object.keys(endpoint.headers).length
              ? html`<ul class="plain-list">${Object.entries(endpoint.headers).map(([name, value]) => html`<li key=${name}><code>${name}: ${shown ? value : '••••'}</code></li>`)}</ul>`
              : t('none'),
          ],
      polling
        ? null
        : [
            t('Secret'),
            html`<code>${shown ? endpoint.secret : `${endpoint.secret.slice(0, 6)}••••`}</code> <button type="button" class="quiet small" onClick=${() => setShown(!shown)}>${shown ? t('Hide') : t('Show')}</button> <${CopyButton} text=${endpoint.secret} what="Secret" />`,
          ],
      polling
        ? null
        : [t('Time in the signature'), endpoint.signature_timestamp === 'unix' ? t('Unix seconds') : 'RFC 3339'],
      ...Object.entries(endpoint.metadata).map(([key, value]) => /** @type {[string, string]} */ ([key, value])),
      [t('Created'), html`<${Time} at=${endpoint.created} />`],
      ['Id', html`<${Id} id=${endpoint.id} />`],
    ]} /></section>
    ${polling ? html`<${Polling} endpoint=${endpoint} />` : html`<${Replay} endpoint=${endpoint} /><${Deliveries} endpoint=${endpoint} route=${route} />`}`;
}

/** Fleets by name. @param {{ ids: string[] }} props */
function FleetNames({ ids }) {
  const read = useRead(
    (signal) =>
      Promise.all(ids.map((id) => request('GET', `/v1/fleets/${id}`, undefined, { signal }).catch(nullIfMissing))),
    [ids],
  );
  return html`<ul class="plain-list">${ids.map((id, index) => html`<li key=${id}><${Ref} to=${read.data?.[index] ?? id} /></li>`)}</ul>`;
}

/** The log of an endpoint. @param {{ endpoint: WebhookEndpoint, route: import('../../router.js').Route }} props */
function Deliveries({ endpoint, route }) {
  const [status, type, event] = ['status', 'type', 'event'].map((name) => route.query.get(name) ?? '');
  const deliveries = useList(address(`${PATH}/${endpoint.id}/deliveries`, { status, type, event, limit: 10 }), {
    every: 3000,
  });
  return html`<h2>Deliveries</h2>
    <${DeliveryFilters} status=${status} type=${type} event=${event} types=${endpoint.enabled_events} />
    <${ResourceError} resource=${deliveries} />
    ${deliveries.data?.length === 0 ? (status || type || event ? html`<${Empty} title="No delivery matches the filters" />` : html`<${Empty} title="Nothing was delivered yet"><p>Send a ping to see the first delivery.</p></${Empty}>`) : null}
    ${(deliveries.data ?? []).map((delivery) => html`<${DeliveryCard} key=${delivery.id} delivery=${delivery} endpoint=${endpoint} />`)}
    <${PageButtons} list=${deliveries} caption="deliveries" />`;
}

/** The filters of the log. @param {{ status: string, type: string, event: string, types: string[] }} props */
function DeliveryFilters({ status, type, event, types }) {
  const all = useRead(async () => valuesOf(await openApi(), '/v1/events', 'type'), []);
  const offered = types.includes('*') ? (all.data ?? []) : [...new Set([...types, 'ping'])];
  const choices = [...new Set([...offered, ...(type ? [type] : [])])];
  return html`<div class="filters">
    <${Field} label="Status">${(/** @type {string} */ id) =>
      html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[
        ['', t('All')],
        ['succeeded', t('Succeeded')],
        ['failed', t('Failed')],
      ]} />`}</${Field}>
    <${Field} label="Type">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${type} onChange=${(/** @type {string} */ next) => setQuery({ type: next || null })} options=${[['', t('All')], ...choices.map((one) => [one, one])]} />`}</${Field}>
    <${Field} label="Event (id)">${(/** @type {string} */ id) => html`<input id=${id} type="search" spellcheck=${false} placeholder="evt_…" value=${event} onChange=${(/** @type {InputChange} */ change) => setQuery({ event: change.currentTarget.value.trim() || null })} />`}</${Field}>
  </div>`;
}

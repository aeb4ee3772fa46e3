// Webhook endpoints with their health, and the deliveries of one.

import { html, useState } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { useAction, useList, useRead, useResource } from '../../api/resource.js';
import { ConfirmButton, CopyButton, Dialog, Empty, Facts, Field, Id, PageHead, Select, Status, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { ListView, PageButtons } from '../../ui/list.js';
import { SchemaForm } from '../../forms/schema-form.js';
import { openApi, valuesOf } from '../../forms/schema.js';
import { hasTestClock } from '../../state/clock.js';
import { go, link, setQuery } from '../../router.js';
import { toast } from '../../ui/toasts.js';
import { words } from '../../format.js';
import { DeliveryCard } from './deliveries.js';
import { Replay } from './replay.js';

const PATH = '/v1/webhook_endpoints';

/** @param {{ id?: string, route: import('../../router.js').Route }} props */
export function Endpoints({ id, route }) {
  return id ? html`<${Endpoint} id=${id} route=${route} />` : html`<${List} route=${route} />`;
}

/** The share of successes among the last attempts. @param {{ endpoint: any }} props */
function Health({ endpoint }) {
  const last = useRead((signal) => request('GET', `${PATH}/${endpoint.id}/deliveries?limit=50`, undefined, { signal }), [endpoint.id], { every: 10_000 });
  const attempts = last.data?.data ?? [];
  if (last.error) return html`<span class="badge bad">unknown</span>`;
  if (!attempts.length) return html`<span class="none">no attempt yet</span>`;
  const good = attempts.filter((/** @type {any} */ one) => one.status === 'succeeded').length;
  return html`<span class="health"><meter min="0" max=${attempts.length} low=${attempts.length * 0.5} high=${attempts.length * 0.9} optimum=${attempts.length} value=${good} aria-label="Health"></meter>
    ${good} of the last ${attempts.length} attempts succeeded</span>`;
}

/** @param {{ route: import('../../router.js').Route }} props */
function List({ route }) {
  const list = useList(`${PATH}?limit=25`, { every: 10_000 });
  const columns = [
    { label: 'URL', cell: (/** @type {any} */ one) => html`<a href=${link(`/developers/endpoints/${one.id}`)}>${one.url ?? 'Read by polling'}</a>` },
    { label: 'Status', cell: (/** @type {any} */ one) => html`<${Status} value=${one.status} />` },
    { label: 'Health', cell: (/** @type {any} */ one) => html`<${Health} endpoint=${one} />` },
    { label: 'Events', cell: (/** @type {any} */ one) => (one.enabled_events.includes('*') ? 'all' : `${one.enabled_events.length} types`) },
    { label: 'Description', cell: (/** @type {any} */ one) => one.description ?? '–' },
  ];
  const create = () => setQuery({ new: 1 });
  const initial = { enabled_events: ['*'], ...(hasTestClock() ? { url: `${location.origin}/_local/inbox` } : {}) };
  const empty = html`<${Empty} title="No webhook endpoint yet"><p>Events are sent to an endpoint, an address of yours.${hasTestClock() ? ' The inbox of the local runner can stand in for it.' : ''}</p>
    <button type="button" class="primary" onClick=${create}>Add an endpoint</button></${Empty}>`;
  return html`<${PageHead} title="Webhook endpoints"><button type="button" class="primary" onClick=${create}>Add an endpoint</button></${PageHead}>
    ${route.query.get('new') ? html`<${Dialog} wide title="Add an endpoint" onClose=${() => setQuery({ new: null })}><${SchemaForm} path=${PATH} submit="Add the endpoint" initial=${initial}
      send=${(/** @type {any} */ body, /** @type {string} */ key) => request('POST', PATH, body, { idempotencyKey: key })} onDone=${(/** @type {any} */ made) => go(link(`/developers/endpoints/${made.id}`))} /></${Dialog}>` : null}
    <${ListView} list=${list} caption="Webhook endpoints" columns=${columns} empty=${empty} />`;
}

/** @param {{ id: string, route: import('../../router.js').Route }} props */
function Endpoint({ id, route }) {
  const path = `${PATH}/${encodeURIComponent(id)}`;
  const resource = useResource(path, { every: 5000 });
  const [status, type, event] = ['status', 'type', 'event'].map((name) => route.query.get(name) ?? '');
  const deliveries = useList(address(`${path}/deliveries`, { status, type, event, limit: 10 }), { every: 3000 });
  const [editing, setEditing] = useState(false);
  const [shown, setShown] = useState(false);
  const test = useAction((key) => request('POST', `${path}/test`, {}, { idempotencyKey: key }));
  const rotate = useAction((key) => request('POST', `${path}/rotate_secret`, {}, { idempotencyKey: key }));
  const remove = useAction((key) => request('DELETE', path, undefined, { idempotencyKey: key }));
  const endpoint = resource.data;
  if (!endpoint) return html`<${PageHead} title="Webhook endpoint" /><${ResourceError} resource=${resource} />`;
  const done = async (/** @type {Promise<any>} */ work, /** @type {string} */ text) => {
    if (await work) toast(text);
  };
  const deleteIt = async () => {
    if (await remove.run()) go('#/developers/endpoints');
  };
  return html`<${PageHead} title=${endpoint.url ?? 'Polling endpoint'}><${Status} value=${endpoint.status} />
      <button type="button" class="primary" disabled=${test.busy} onClick=${() => done(test.run(), 'A ping is on its way.')}>Send a ping</button>
      <button type="button" onClick=${() => setEditing(true)}>Edit</button>
      <${ConfirmButton} label="Rotate the secret" question="A new secret signs at once. The previous secret keeps signing for 24 hours." onConfirm=${() => done(rotate.run(), 'The secret was rotated.')} />
      <${ConfirmButton} danger label="Delete" question="The endpoint is deleted with what is still to be delivered to it." onConfirm=${deleteIt} /></${PageHead}>
    <${ResourceError} resource=${resource} />
    ${[test.error, rotate.error, remove.error].map((error) => error && html`<${ErrorNotice} error=${error} />`)}
    ${editing ? html`<${Dialog} wide title="Edit the endpoint" onClose=${() => setEditing(false)}><${SchemaForm} path=${`${PATH}/{id}`} original=${endpoint} submit="Save"
      send=${(/** @type {any} */ body, /** @type {string} */ key) => request('POST', path, body, { idempotencyKey: key })} onDone=${() => setEditing(false)} /></${Dialog}>` : null}
    <section class="card"><${Facts} of=${[
      ['Health', html`<${Health} endpoint=${endpoint} />`], ['Description', endpoint.description], ['Events', endpoint.enabled_events.includes('*') ? 'all' : html`<ul class="plain-list">${endpoint.enabled_events.map((/** @type {string} */ one) => html`<li key=${one}><code>${one}</code></li>`)}</ul>`],
      ['Version', endpoint.api_version], ['Secret', html`<code>${shown ? endpoint.secret : `${endpoint.secret.slice(0, 6)}••••`}</code> <button type="button" class="quiet small" onClick=${() => setShown(!shown)}>${shown ? 'Hide' : 'Show'}</button> <${CopyButton} text=${endpoint.secret} what="Secret" />`],
      ['Time in the signature', endpoint.signature_timestamp === 'unix' ? 'Unix seconds' : 'RFC 3339'],
      endpoint.health?.attempts ? ['Latency', `median ${endpoint.health.p50_ms} ms, 95th percentile ${endpoint.health.p95_ms} ms`] : null,
      endpoint.health?.last_failure ? ['Last failure', html`<${Time} at=${endpoint.health.last_failure.at} />: ${endpoint.health.last_failure.reason}`] : null,
      endpoint.fleets?.length ? ['Fleets', html`<ul class="plain-list">${endpoint.fleets.map((/** @type {string} */ one) => html`<li key=${one}><${Id} id=${one} /></li>`)}</ul>`] : null,
      endpoint.ordered ? ['Order', 'The events of an object follow one another'] : null,
      endpoint.max_per_second ? ['Limit', `${endpoint.max_per_second} requests per second`] : null,
      endpoint.disabled_at ? ['Disabled', html`<${Time} at=${endpoint.disabled_at} />, ${words(endpoint.disabled_reason ?? '')}`] : null, ['Created', html`<${Time} at=${endpoint.created} />`], ['Id', html`<${Id} id=${endpoint.id} />`]]} /></section>
    ${endpoint.type === 'polling' ? null : html`<${Replay} endpoint=${endpoint} />`}
    <h2>Deliveries</h2>
    <${DeliveryFilters} status=${status} type=${type} event=${event} types=${endpoint.enabled_events} />
    <${ResourceError} resource=${deliveries} />
    ${deliveries.data?.length === 0 ? status || type || event ? html`<${Empty} title="No delivery matches the filters" />` : html`<${Empty} title="Nothing was delivered yet"><p>Send a ping to see the first delivery.</p></${Empty}>` : null}
    ${(deliveries.data ?? []).map((delivery) => html`<${DeliveryCard} key=${delivery.id} delivery=${delivery} endpoint=${endpoint} />`)}
    <${PageButtons} list=${deliveries} caption="deliveries" />`;
}

/** The filters of the log. @param {{ status: string, type: string, event: string, types: string[] }} props */
function DeliveryFilters({ status, type, event, types }) {
  const all = useRead(async () => valuesOf(await openApi(), '/v1/events', 'type'), []);
  const offered = types.includes('*') ? (all.data ?? []) : [...new Set([...types, 'ping'])];
  const choices = [...new Set([...offered, ...(type ? [type] : [])])];
  return html`<div class="filters">
    <${Field} label="Status">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${status} onChange=${(/** @type {string} */ next) => setQuery({ status: next || null })} options=${[['', 'All'], ['succeeded', 'Succeeded'], ['failed', 'Failed']]} />`}</${Field}>
    <${Field} label="Type">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${type} onChange=${(/** @type {string} */ next) => setQuery({ type: next || null })} options=${[['', 'All'], ...choices.map((one) => [one, one])]} />`}</${Field}>
    <${Field} label="Event (id)">${(/** @type {string} */ id) => html`<input id=${id} type="search" spellcheck=${false} placeholder="evt_…" value=${event} onChange=${(/** @type {any} */ change) => setQuery({ event: change.currentTarget.value.trim() || null })} />`}</${Field}>
  </div>`;
}

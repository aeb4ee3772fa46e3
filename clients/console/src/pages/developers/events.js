// Events, and the deliveries of one event.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { address, request } from '../../api/client.js';
import { useAction, useList, useRead, useResource } from '../../api/resource.js';
import { Empty, Facts, Field, Id, Json, PageHead, Select, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { CreatedFilter, ListView, PageButtons, createdBetween, isFiltered } from '../../ui/list.js';
import { Ref, nameOf, objectOf } from '../../ui/objects.js';
import { openApi, valuesOf } from '../../forms/schema.js';
import { link, setQuery } from '../../router.js';
import { toast } from '../../ui/toasts.js';
import { DeliveryCard } from './deliveries.js';

/** @typedef {import('../../../types').Event} ServiceEvent */

/** @param {{ id?: string, route: import('../../router.js').Route }} props */
export function Events({ id, route }) {
  return id ? html`<${Event} id=${id} />` : html`<${List} route=${route} />`;
}

/** @param {{ route: import('../../router.js').Route }} props */
function List({ route }) {
  const type = route.query.get('type') ?? '';
  const types = useRead(async () => valuesOf(await openApi(), '/v1/events', 'type'), []);
  const list = useList(address('/v1/events', { type, ...createdBetween(route.query), limit: 25 }), { every: 3000 });
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
    {
      label: t('Name'),
      cell: (/** @type {ServiceEvent} */ one) => {
        const object = objectOf(one);
        return object?.name || object?.registration_plate ? nameOf(object) : '–';
      },
    },
    { label: t('Created'), cell: (/** @type {ServiceEvent} */ one) => html`<${Time} at=${one.created} />` },
    { label: t('Deliveries to come'), number: true, cell: (/** @type {ServiceEvent} */ one) => one.pending_webhooks },
    {
      label: t('Request'),
      cell: (/** @type {ServiceEvent} */ one) =>
        one.request ? html`<${Id} id=${one.request.id} />` : t('by the service'),
    },
  ];
  const empty = html`<${Empty} title=${isFiltered(route.query) ? t('No event matches the filters') : type ? t`No event of type ${type}` : t('No event yet')}><p>Every change makes an event. Events are kept for 30 days.</p></${Empty}>`;
  return html`<${PageHead} title="Events" intro="What changed, and what was sent to webhook endpoints." />
    <div class="filters"><${Field} label="Type">${(/** @type {string} */ id) => html`<${Select} id=${id} value=${type} onChange=${(/** @type {string} */ next) => setQuery({ type: next || null })} options=${[['', t('All')], ...(types.data ?? []).map((one) => [one, one])]} />`}</${Field}>
      <${CreatedFilter} query=${route.query} /></div>
    <${ListView} main list=${list} caption="Events" columns=${columns} empty=${empty} />`;
}

/** @param {{ id: string }} props */
function Event({ id }) {
  const resource = useResource(`/v1/events/${encodeURIComponent(id)}`, { every: 3000 });
  const resend = useAction((key) =>
    request('POST', `/v1/events/${encodeURIComponent(id)}/redeliver`, {}, { idempotencyKey: key }),
  );
  const endpoints = useRead(
    async (signal) => {
      const page = await request('GET', '/v1/webhook_endpoints?limit=100', undefined, { signal });
      return new Map(page.data.map((/** @type {import('../../../types').WebhookEndpoint} */ one) => [one.id, one]));
    },
    [id],
  );
  const deliveries = useList(`/v1/events/${encodeURIComponent(id)}/deliveries?limit=25`, { every: 3000 });
  const event = resource.data;
  if (!event) return html`<${PageHead} title="Event" /><${ResourceError} resource=${resource} />`;
  const again = async () => {
    if (await resend.run()) toast(t('The event is being delivered again.'));
  };
  return html`<${PageHead} title=${event.type}><button type="button" class="primary" disabled=${resend.busy} onClick=${again}>Deliver again</button></${PageHead}>
    <${ResourceError} resource=${resource} />
    ${resend.error ? html`<${ErrorNotice} error=${resend.error} />` : null}
    <section class="card"><${Facts} of=${[
      [t('Created'), html`<${Time} at=${event.created} />`],
      [t('Object'), html`<${Ref} to=${objectOf(event)?.id} />`],
      [t('Version'), event.api_version],
      [t('Mode'), event.livemode ? t('live') : t('test')],
      [t('Deliveries to come'), String(event.pending_webhooks)],
      [t('Request'), event.request ? html`<${Id} id=${event.request.id} />` : t('made by the service')],
      event.request?.idempotency_key
        ? [t('Idempotency key'), html`<code>${event.request.idempotency_key}</code>`]
        : null,
      ['Id', html`<${Id} id=${event.id} />`],
    ]} /></section>
    <h2>Deliveries</h2>
    <${ResourceError} resource=${deliveries} /><${ResourceError} resource=${endpoints} />
    ${
      deliveries.data?.length === 0
        ? html`<${Empty} title=${event.pending_webhooks ? t('Not delivered yet') : t('Not delivered to anybody')}><p>${
            event.pending_webhooks
              ? t('The first attempt is still to come.')
              : html`No endpoint subscribed to <code>${event.type}</code>.`
          } <a href="#/developers/endpoints">Webhook endpoints</a></p></${Empty}>`
        : null
    }
    ${(deliveries.data ?? []).map((delivery) => html`<${DeliveryCard} key=${delivery.id} delivery=${delivery} endpoint=${endpoints.data?.get(delivery.webhook_endpoint) ?? null} event=${event} />`)}
    <${PageButtons} list=${deliveries} caption="deliveries" />
    <h2>Payload</h2><${Json} label="Payload of the event" value=${event} />`;
}

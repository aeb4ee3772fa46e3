// API keys: making one, whose secret is shown once, and revoking.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { request } from '../../api/client.js';
import { useAction, useList } from '../../api/resource.js';
import { ConfirmButton } from '../../ui/confirm.js';
import { CopyButton, Dialog, Empty, PageHead, Time } from '../../ui/elements.js';
import { ErrorNotice } from '../../ui/errors.js';
import { ListView } from '../../ui/list.js';
import { SchemaForm } from '../../forms/schema-form.js';
import { session } from '../../state/session.js';
import { setQuery } from '../../router.js';

/**
 * @typedef {import('../../../types').ApiKey} ApiKey
 * @typedef {import('../../../types').NewApiKey} NewApiKey
 */

const PATH = '/v1/api_keys';

/** @param {{ route: import('../../router.js').Route }} props */
export function Keys({ route }) {
  const list = useList(`${PATH}?limit=25`);
  const [made, setMade] = useState(/** @type {NewApiKey | null} */ (null));
  const revoke = useAction((key, id) => request('DELETE', `${PATH}/${id}`, undefined, { idempotencyKey: key }));
  const revokeLost = async () => {
    if (await revoke.run(made?.id)) setMade(null);
  };
  const own = session.get()?.key.slice(-4);
  const columns = [
    {
      label: t('Key'),
      cell: (/** @type {ApiKey} */ one) =>
        html`<code>${one.scopes.includes('*') ? 'sk' : 'rk'}_${one.livemode ? 'live' : 'test'}_…${one.last4}</code>${one.last4 === own ? t(' (this one)') : ''}`,
    },
    {
      label: t('Scopes'),
      cell: (/** @type {ApiKey} */ one) => (one.scopes.includes('*') ? t('everything') : one.scopes.join(', ')),
    },
    { label: t('Created'), cell: (/** @type {ApiKey} */ one) => html`<${Time} at=${one.created} />` },
    { label: t('Last used'), cell: (/** @type {ApiKey} */ one) => html`<${Time} at=${one.last_used} ago />` },
    { label: t('Expires'), cell: (/** @type {ApiKey} */ one) => html`<${Time} at=${one.expires_at} />` },
    {
      label: t('Revoke'),
      cell: (/** @type {ApiKey} */ one) =>
        html`<${ConfirmButton} danger label="Revoke" question=${t`Requests with the key that ends in ${one.last4} are refused within a minute.`} trial=${{ method: 'DELETE', path: `${PATH}/${one.id}` }} onConfirm=${() => revoke.run(one.id)} />`,
    },
  ];
  return html`<${PageHead} title="API keys"><button type="button" class="primary" onClick=${() => setQuery({ new: 1 })}>Create a key</button></${PageHead}>
    ${revoke.error ? html`<${ErrorNotice} error=${revoke.error} />` : null}
    ${
      route.query.get('new')
        ? html`<${Dialog} wide title="Create a key" onClose=${() => setQuery({ new: null })}><${SchemaForm} path=${PATH} submit="Create the key"
      onDone=${(/** @type {NewApiKey} */ key) => (setQuery({ new: null }), setMade(key))} /></${Dialog}>`
        : null
    }
    ${
      made && !made.secret
        ? html`<${Dialog} title="The new key" onClose=${() => setMade(null)}>${revoke.error ? html`<${ErrorNotice} error=${revoke.error} />` : null}
      <p>The key that ends in ${made.last4} was created, but the response with its secret was lost, and the secret is not shown again. Revoke the key, and create another one.</p>
      <footer><button type="button" onClick=${() => setMade(null)}>Close</button><button type="button" class="danger" disabled=${revoke.busy} onClick=${revokeLost}>Revoke the key</button></footer></${Dialog}>`
        : null
    }
    ${
      made?.secret
        ? html`<${Dialog} title="The new key" onClose=${() => setMade(null)}><p>Copy it now: it is not shown again.</p><p><code class="long">${made.secret}</code></p>
      <footer><${CopyButton} text=${made.secret} what="API key" /><button type="button" class="primary" onClick=${() => setMade(null)}>Done</button></footer></${Dialog}>`
        : null
    }
    <${ListView} list=${list} caption="API keys" columns=${columns} empty=${html`<${Empty} title="No key" />`} />`;
}

// Whose key this is, and what it may do.

import { t } from '../i18n.js';
import { html } from '../ui/html.js';
import { Dialog, Facts, Id, Status, Time } from '../ui/elements.js';
import { money, title, words } from '../format.js';
import { session } from '../state/session.js';

/** @typedef {import('../../types').Account} Account */

/**
 * Scopes by what they are about: "vehicles" with "read, write".
 * @param {string[]} scopes
 * @returns {[string, string][]}
 */
export function scopesByKind(scopes) {
  /** @type {Map<string, string[]>} */
  const kinds = new Map();
  for (const scope of scopes) {
    const [kind, verb] = scope.split(':');
    kinds.set(kind, [...(kinds.get(kind) ?? []), verb]);
  }
  return [...kinds]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([kind, verbs]) => [title(kind), verbs.map(words).join(', ')]);
}

/** @param {{ account: Account, onClose: () => void }} props */
export function AccountDialog({ account, onClose }) {
  const { key } = account;
  const everything = key?.scopes.includes('*');
  return html`<${Dialog} title=${account.name} onClose=${onClose}>
    <${Facts} of=${[
      [t('Status'), html`<${Status} value=${account.status} />`],
      [t('Plan'), title(account.plan)],
      [t('Email'), account.email],
      [t('Wallet'), money(account.wallet_balance, account.default_currency)],
      ['API', session.get()?.api || location.origin],
      ['Id', html`<${Id} id=${account.id} />`],
    ]} />
    ${
      key
        ? html`<h3>This key</h3><${Facts} of=${[
            [t('Mode'), key.livemode ? t('Live: charging costs money') : t('Test: nothing costs anything')],
            [t('Expires'), key.expires_at ? html`<${Time} at=${key.expires_at} />` : t('never')],
            [t('May do'), everything ? t('everything') : null],
            ...(everything ? [] : scopesByKind(key.scopes)),
          ]} />`
        : null
    }
    <footer><a class="button" href="#/developers/keys" onClick=${onClose}>API keys</a><button type="button" class="primary" onClick=${onClose}>Done</button></footer></${Dialog}>`;
}

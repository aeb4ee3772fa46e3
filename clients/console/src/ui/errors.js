// How failed requests are shown: what happened, what the user can do, and when it is tried again.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from './html.js';
import { createStore, useStore } from '../state/store.js';
import { WebLink } from './basics.js';
import { notifyTabs } from '../api/client.js';
import { signOut } from '../state/session.js';

/**
 * @import { ApiError } from '../api/client.js'
 * @import { ErrorKind } from '../../types'
 */

/** @type {Record<ErrorKind, string>} */
const TITLES = {
  unauthorized: t('The API key was not accepted'),
  forbidden: t('This is not allowed'),
  missing: t('Not found'),
  limited: t('Too many requests'),
  invalid: t('The request was refused'),
  conflict: t('This is not possible in the present state'),
  payment: t('The payment failed'),
  server: t('The service failed'),
  timeout: t('The service does not respond'),
  offline: t('The service cannot be reached'),
  busy: t('This is being done already'),
};

/** An error with the moment of the next try, if there is one. */
export function ErrorNotice(
  /** @type {{ error: ApiError, retryAt?: number | null, onRetry?: () => void }} */ { error, retryAt = null, onRetry },
) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (retryAt === null) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [retryAt]);
  const seconds = retryAt === null ? null : Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  const details = [
    error.status && t`status ${error.status}`,
    error.code,
    error.param && t`parameter ${error.param}`,
    error.request,
  ];
  return html`<div class="notice bad" role="alert">
    <p class="notice-title">${TITLES[error.kind]}</p>
    <p>${error.param && /^\p{Lower}/u.test(error.message) ? html`<code>${error.param}</code> ` : null}${error.message}</p>
    <p class="notice-details">${details.filter(Boolean).join(' · ')} ${error.docUrl ? html`<${WebLink} url=${error.docUrl}>about this error</${WebLink}>` : null}</p>
    ${seconds === null ? null : html`<p aria-live="off">${seconds > 0 ? t`Trying again in ${seconds} s.` : t('Trying again…')}</p>`}
    <div class="actions">
      ${onRetry ? html`<button type="button" onClick=${onRetry}>Try again</button>` : null}
      ${error.kind === 'unauthorized' ? html`<button type="button" onClick=${() => signOut()}>Sign in again</button>` : null}
    </div>
  </div>`;
}

/**
 * The notice of a resource, above what was read before. Nothing without an error. Trying again reads everything on the
 * page again,
 * because what failed for one part has often failed for the others.
 * @param {{ resource: import('../api/resource.js').Resource<unknown> }} props
 */
export const ResourceError = ({ resource }) =>
  resource.error ? html`<${SharedNotice} error=${resource.error} retryAt=${resource.retryAt} />` : null;

/** The failures that are shown, the first of each kind as a notice. */
const failures = createStore(/** @type {{ text: string }[]} */ ([]));

/** A notice, unless another part of the page says the same. */
function SharedNotice(/** @type {{ error: ApiError, retryAt: number | null }} */ { error, retryAt }) {
  const text = `${error.kind} ${error.message}`;
  const own = useRef({ text });
  const all = useStore(failures);
  useEffect(() => {
    const mine = (own.current = { text });
    failures.set([...failures.get(), mine]);
    return () => failures.set(failures.get().filter((one) => one !== mine));
  }, [text]);
  const first = all.find((one) => one.text === text);
  if (first && first !== own.current)
    return html`<p class="hint">Not up to date, as another part of this page says.</p>`;
  return html`<${ErrorNotice} error=${error} retryAt=${retryAt} onRetry=${notifyTabs} />`;
}

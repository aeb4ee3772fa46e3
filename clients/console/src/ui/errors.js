// How failed requests are shown: what happened, what the user can do, and when it is tried again.

import { html, useEffect, useState } from './html.js';
import { WebLink } from './elements.js';
import { notifyTabs } from '../api/client.js';
import { signOut } from '../state/session.js';

/** @type {Record<import('../api/client.js').ErrorKind, string>} */
const TITLES = {
  unauthorized: 'The API key was not accepted',
  forbidden: 'This is not allowed',
  missing: 'Not found',
  limited: 'Too many requests',
  invalid: 'The request was refused',
  conflict: 'This is not possible in the present state',
  payment: 'The payment failed',
  server: 'The service failed',
  timeout: 'The service does not respond',
  offline: 'The service cannot be reached',
};

/** An error with the moment of the next try, if there is one. */
export function ErrorNotice(/** @type {{ error: import('../api/client.js').ApiError, retryAt?: number | null, onRetry?: () => void }} */ { error, retryAt = null, onRetry }) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (retryAt === null) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), 500);
    return () => clearInterval(timer);
  }, [retryAt]);
  const seconds = retryAt === null ? null : Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  const details = [error.status && `status ${error.status}`, error.code, error.param && `parameter ${error.param}`, error.request];
  return html`<div class="notice bad" role="alert">
    <p class="notice-title">${TITLES[error.kind]}</p>
    <p>${error.message}</p>
    <p class="notice-details">${details.filter(Boolean).join(' · ')} ${error.docUrl ? html`<${WebLink} url=${error.docUrl}>about this error</${WebLink}>` : null}</p>
    ${seconds === null ? null : html`<p aria-live="off">${seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…'}</p>`}
    <div class="actions">
      ${onRetry ? html`<button type="button" onClick=${onRetry}>Try again</button>` : null}
      ${error.kind === 'unauthorized' ? html`<button type="button" onClick=${() => signOut()}>Sign in again</button>` : null}
    </div>
  </div>`;
}

/**
 * The notice of a resource, above what was read before. Nothing without an error. Trying again reads everything on the page again,
 * because what failed for one part has often failed for the others.
 */
export const ResourceError = (/** @type {{ resource: import('../api/resource.js').Resource<any> }} */ { resource }) =>
  resource.error ? html`<${ErrorNotice} error=${resource.error} retryAt=${resource.retryAt} onRetry=${notifyTabs} />` : null;

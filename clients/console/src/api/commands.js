// Requests as command lines, and files of the API.

import { t } from '../i18n.js';
import { session } from '../state/session.js';
import { ApiError, TIMEOUT, refusal } from './client.js';

/** @typedef {import('../../types').SentRequest} SentRequest */

/**
 * The file to which the API redirects.
 * @param {string} path
 * @returns {Promise<Blob>}
 */
export async function requestFile(path) {
  const current = session.get();
  if (!current) throw new ApiError('unauthorized', t('Sign in first.'), { status: 401 });
  const response = await fetch(current.api + path, {
    headers: { Authorization: `Bearer ${current.key}` },
    signal: AbortSignal.timeout(TIMEOUT),
  }).catch(() => null);
  if (!response)
    throw new ApiError(
      'offline',
      t('The file could not be read here. The command line reads it: copy the command as curl.'),
    );
  if (!response.ok) throw refusal(response, await response.text());
  return response.blob();
}

/**
 * The command line that sends the same request.
 * @param {SentRequest} one
 * @param {boolean} withKey whether the API key is written out; otherwise it is the variable $KEY
 */
export function curl(one, withKey = false) {
  const current = session.get();
  const base = current?.api || globalThis.location.origin;
  const parts = [`curl -s ${quoted(base + one.path)}`];
  if (one.method !== 'GET' && !(one.method === 'POST' && one.body !== undefined)) parts.push(`-X ${one.method}`);
  if (one.local) parts.push('-H "Authorization: Bearer $TOKEN"');
  else
    parts.push(withKey ? `-H ${quoted(`Authorization: Bearer ${current?.key}`)}` : '-H "Authorization: Bearer $KEY"');
  if (one.idempotencyKey) parts.push(`-H ${quoted(`Idempotency-Key: ${one.idempotencyKey}`)}`);
  if (one.ifMatch) parts.push(`-H ${quoted(`If-Match: ${one.ifMatch}`)}`);
  if (one.body !== undefined)
    parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(one.body))}`);
  return parts.join(' \\\n  ');
}

/**
 * The command line that saves the file to which the API redirects. The API key is the variable $KEY.
 * @param {string} path
 * @param {string} name of the file
 */
export const fileCurl = (path, name) =>
  `curl -sL -o ${quoted(name)} -H "Authorization: Bearer $KEY" ${quoted((session.get()?.api || globalThis.location.origin) + path)}`;

/**
 * A word of a POSIX shell that means exactly this text.
 * @param {string} text
 */
export const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

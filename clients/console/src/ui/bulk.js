// What is done with the chosen objects of a list: asked first with what will happen, then done with its progress, and
// undone where it can be undone.

import { t } from '../i18n.js';
import { html, useEffect, useRef, useState } from './html.js';
import { address, notifyTabs, request } from '../api/client.js';
import { runAll } from '../api/pool.js';
import { useRead } from '../api/resource.js';
import { Dialog } from './elements.js';
import { ResourceError } from './errors.js';
import { csvOf, download, fileName } from './csv.js';
import { nameOf } from './objects.js';
import { number } from '../format.js';

/**
 * @typedef {import('../api/bulk.js').BulkAction} BulkAction
 * @typedef {import('../api/bulk.js').Call} Call
 * @typedef {import('../api/bulk.js').Named} Named
 * @typedef {import('../api/pool.js').Outcome<Named>} Outcome
 */

/** How many objects are tried first at most, and how many failures are listed. */
const TRIED = 100;
const LISTED = 20;

/** @param {Call} call @param {string} key */
const send = ({ method, path, body }, key) =>
  request(method, path, body ?? (method === 'POST' ? {} : undefined), { idempotencyKey: key, quiet: true });

/** @param {{ action: BulkAction, objects: Named[], onClose: (done: boolean) => void }} props */
export function BulkDialog({ action, objects, onClose }) {
  const chosen = objects.filter(action.applies ?? (() => true));
  const [outcomes, setOutcomes] = useState(/** @type {Outcome[] | null} */ (null));
  const [stage, setStage] = useState(/** @type {'asking' | 'doing' | 'done' | 'undoing' | 'undone'} */ ('asking'));
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const run = async (
    /** @type {Named[]} */ items,
    /** @type {(object: Named) => Call} */ callOf,
    /** @type {'done' | 'undone'} */ after,
  ) => {
    stop.current = new AbortController();
    setOutcomes([]);
    setStage(after === 'done' ? 'doing' : 'undoing');
    setOutcomes(
      await runAll(items, (object, key) => send(callOf(object), key), {
        signal: stop.current.signal,
        onProgress: setOutcomes,
      }),
    );
    setStage(after);
    notifyTabs();
  };
  const done = (outcomes ?? []).filter(({ error }) => !error).map(({ item }) => item);
  const total = useRef(chosen.length);
  const begin = () => {
    total.current = chosen.length;
    void run(chosen, action.call, 'done');
  };
  const undo = () => {
    if (!action.undo) return;
    total.current = done.length;
    void run(done, action.undo, 'undone');
  };
  const busy = stage === 'doing' || stage === 'undoing';
  // What runs is completed: the dialog stays until its outcome is there.
  const close = () => (busy ? stop.current.abort() : onClose(stage !== 'asking'));
  return html`<${Dialog} title=${action.label} onClose=${close}>
    ${stage === 'asking' ? html`<p>${action.question}</p><${Before} action=${action} chosen=${chosen} left=${objects.length - chosen.length} />` : html`<${Progress} outcomes=${outcomes ?? []} total=${total.current} stage=${stage} name=${action.label} />`}
    <footer>
      ${
        stage === 'asking'
          ? html`<button type="button" autofocus onClick=${close}>Cancel</button>
        <button type="button" class=${action.danger ? 'danger' : 'primary'} disabled=${!chosen.length} onClick=${begin}>${action.label}: ${number(chosen.length)}</button>`
          : null
      }
      ${busy ? html`<button type="button" onClick=${() => stop.current.abort()}>Stop</button>` : null}
      ${stage === 'done' && action.undo && done.length ? html`<button type="button" onClick=${undo}>Undo</button>` : null}
      ${stage === 'done' || stage === 'undone' ? html`<button type="button" class="primary" onClick=${close}>Done</button>` : null}
    </footer></${Dialog}>`;
}

/**
 * How many objects it will be done with, and what the API refuses.
 * @param {{ action: BulkAction, chosen: Named[], left: number }} props
 */
function Before({ action, chosen, left }) {
  const tried = chosen.slice(0, TRIED);
  const read = useRead(
    async (signal) => {
      if (!action.trial || !tried.length) return null;
      const outcomes = await runAll(
        tried,
        (object) => {
          const { method, path, body } = action.call(object);
          return request(method, address(path, { dry_run: 'true' }), body ?? (method === 'POST' ? {} : undefined), {
            signal,
            reads: true,
          });
        },
        { signal },
      );
      return outcomes.filter(({ error }) => error);
    },
    [tried.map(({ id }) => id)],
    { once: true },
  );
  return html`<section class="notice" aria-label="What will happen" aria-live="polite"><p class="notice-title">What will happen</p><ul>
      <li>${t('{0, plural, one {It is done with # object.} other {It is done with # objects.}}', chosen.length)}</li>
      ${left ? html`<li>${t('{0, plural, one {# more was chosen, with which it cannot be done.} other {# more were chosen, with which it cannot be done.}}', left)}</li>` : null}
      <li>${action.undo ? t('It can be undone afterwards.') : t('It cannot be undone.')}</li>
      ${action.trial && read.loading ? html`<li>Asking the service…</li>` : null}
      ${read.data?.length ? html`<li>${t('{0, plural, one {The service would refuse # of them.} other {The service would refuse # of them.}}', read.data.length)}</li>` : null}</ul></section>
    <${ResourceError} resource=${read} />
    ${read.data?.length ? html`<${Failures} failed=${read.data} />` : null}`;
}

/** @param {{ outcomes: Outcome[], total: number, stage: string, name: string }} props */
function Progress({ outcomes, total, stage, name }) {
  const failed = outcomes.filter(({ error }) => error);
  const [done, busy] = [outcomes.length - failed.length, stage === 'doing' || stage === 'undoing'];
  const save = () =>
    download(
      fileName(name),
      csvOf(
        ['id', 'name', 'error'],
        failed.map(({ item, error }) => [item.id, nameOf(item), error?.message]),
      ),
    );
  return html`<progress max=${total} value=${outcomes.length} aria-label="Progress"></progress>
    <p role="status">${busy ? t`${number(outcomes.length)} of ${number(total)}` : stage === 'undone' ? t`Undone: ${number(done)} of ${number(total)}.` : t`Done: ${number(done)} of ${number(total)}.`}</p>
    ${failed.length ? html`<${Failures} failed=${failed} />${busy ? null : html`<button type="button" class="small" onClick=${save}>Save what failed as CSV</button>`}` : null}`;
}

/** @param {{ failed: Outcome[] }} props */
const Failures = ({
  failed,
}) => html`<ul class="lines">${failed.slice(0, LISTED).map(({ item, error }) => html`<li key=${item.id}><span>${nameOf(item)}</span> <span class="field-error">${error?.message}</span></li>`)}
  ${failed.length > LISTED ? html`<li>${number(failed.length - LISTED)} more</li>` : null}</ul>`;

// The import of vehicles and drivers from a CSV file: what is in it and what is wrong with it, then one object a line,
// created through batches, which can be undone.

import { t } from '../i18n.js';
import { isObject } from '../json.js';
import { html, useEffect, useMemo, useRef, useState } from '../ui/html.js';
import { notifyTabs, request } from '../api/client.js';
import { runAll } from '../api/pool.js';
import { readPages, useRead } from '../api/resource.js';
import { Dialog, Field, Loading } from '../ui/elements.js';
import { ResourceError } from '../ui/errors.js';
import { csvOf, download } from '../ui/csv.js';
import { Table } from '../ui/list.js';
import { bodyOf, openApi } from '../forms/schema.js';
import { Picker } from '../forms/picker.js';
import { number } from '../format.js';
import { batchesOf, createAll } from './import/batches.js';
import { previewOf, textOf } from './import/logic.js';

/**
 * @typedef {import('./import/logic.js').Entry} Entry
 * @typedef {import('../api/pool.js').Outcome<Entry>} Outcome
 */

/** How many lines are shown, and how many characters a file has at most. */
const SHOWN = 10;
const LONGEST = 10_000_000;

/**
 * What differs between what can be imported.
 * @type {Record<string, { path: string, operation: string, title: string, unique: string[], nameOf: (body:
 *   Entry['body']) => unknown, example: [string[], string[]] }>}
 */
const KINDS = {
  vehicles: {
    path: '/v1/vehicles',
    operation: 'create_vehicle',
    title: t('Import vehicles'),
    unique: ['registration_plate', 'vin'],
    nameOf: (body) => body.registration_plate,
    example: [
      [
        'registration_plate',
        'vin',
        'battery_capacity_kwh',
        'charging_standard',
        'information.make',
        'information.model',
        'metadata.cost_centre',
      ],
      ['AB12 CDE', 'WVWZZZ1KZAW000001', '60', 'Type2', 'Volkswagen', 'ID. Buzz Cargo', '4711'],
    ],
  },
  drivers: {
    path: '/v1/drivers',
    operation: 'create_driver',
    title: t('Import drivers'),
    unique: ['email'],
    nameOf: (body) => body.name,
    example: [
      ['name', 'email', 'phone', 'license_number', 'metadata.cost_centre'],
      ['Ada Byron', 'ada@fleet.example', '', '', '4711'],
    ],
  },
};

/** @param {{ name: string, onClose: () => void }} props */
export function ImportDialog({ name, onClose }) {
  const kind = KINDS[name];
  const [fleet, setFleet] = useState(/** @type {string | null} */ (null));
  const [file, setFile] = useState(/** @type {{ name: string, text: string } | null} */ (null));
  const [fault, setFault] = useState('');
  const api = useRead(() => openApi(), []);
  const preview = useMemo(
    () =>
      file && api.data
        ? previewOf(file.text, bodyOf(api.data, kind.path, 'post'), {
            unique: kind.unique,
            defaults: name === 'vehicles' && fleet ? { fleet } : {},
          })
        : null,
    [file, api.data, fleet],
  );
  const choose = async (/** @type {InputChange} */ event) => {
    const [chosen] = event.currentTarget.files ?? [];
    const tooLong = chosen?.size > LONGEST;
    const text = chosen && !tooLong ? textOf(await chosen.arrayBuffer()) : null;
    const unread = chosen && text === null ? t('The file is not UTF-8: save it as “CSV UTF-8”.') : '';
    setFault(tooLong ? t('The file is longer than 10 MB.') : unread);
    setFile(text === null ? null : { name: chosen.name, text });
  };
  const [running, setRunning] = useState(/** @type {Entry[] | null} */ (null));
  const good = preview?.missing.length ? [] : (preview?.entries.filter(({ errors }) => !errors.length) ?? []);
  const choice = name === 'vehicles' ? t('Fleet of lines that name none') : t('Attach all to');
  if (running)
    return html`<${Run} kind=${kind} entries=${running} fleet=${name === 'drivers' ? fleet : null} onClose=${onClose} />`;
  return html`<${Dialog} wide title=${kind.title} onClose=${onClose}>
    <p>The first line names the members as the API does; a cell may be empty. Several values are separated by semicolons, and a file that was saved here can be read again.</p>
    <p><button type="button" class="small" onClick=${() => download(`${name}.csv`, csvOf(kind.example[0], [kind.example[1]]))}>Save an example file</button></p>
    <div class="row">
      <${Field} label="CSV file">${(/** @type {string} */ id) => html`<input id=${id} type="file" accept=".csv,.txt,text/csv" onChange=${choose} />`}</${Field}>
      <${Field} label=${choice}>${(/** @type {string} */ id) => html`<${Picker} id=${id} kind="fleet" label=${choice} value=${fleet} onChange=${setFleet} />`}</${Field}></div>
    <${ResourceError} resource=${api} />
    ${fault ? html`<p class="notice bad" role="alert">${fault}</p>` : null}
    ${file && api.loading ? html`<${Loading} what="the form" />` : null}
    ${preview ? html`<${Preview} preview=${preview} />` : null}
    <footer><button type="button" onClick=${onClose}>Cancel</button>
      <button type="button" class="primary" disabled=${!good.length} onClick=${() => setRunning(good)}>${t('{0, plural, one {Import # line} other {Import # lines}}', good.length)}</button></footer></${Dialog}>`;
}

/** @param {{ preview: import('./import/logic.js').Preview }} props */
function Preview({ preview: { entries, ignored, missing } }) {
  const bad = entries.filter(({ errors }) => errors.length);
  const members = [...new Set(entries.slice(0, SHOWN).flatMap(({ body }) => Object.keys(body)))].filter(
    (name) => name !== 'fleet',
  );
  const columns = [
    { label: t('Line'), number: true, cell: (/** @type {Entry} */ { line }) => number(line) },
    ...members.map((name) => ({ label: name, cell: (/** @type {Entry} */ { body }) => shown(body[name]) })),
  ];
  const save = () =>
    download(
      'mistakes.csv',
      csvOf(
        ['line', 'mistakes'],
        bad.map(({ line, errors }) => [line, errors.join('; ')]),
      ),
    );
  return html`<section aria-label="Preview" aria-live="polite">
    ${missing.length ? html`<p class="notice bad">Columns are missing: ${missing.join(', ')}.</p>` : null}
    ${ignored.length ? html`<p class="hint">Not imported: ${ignored.join(', ')}.</p>` : null}
    ${
      bad.length
        ? html`<div class="notice wait"><p class="notice-title">${t('{0, plural, one {# line has mistakes and is left out} other {# lines have mistakes and are left out}}', bad.length)}</p>
      <ul>${bad.slice(0, SHOWN).map(({ line, errors }) => html`<li key=${line}>Line ${line}: ${errors.join('; ')}</li>`)}</ul>
      ${bad.length > SHOWN ? html`<button type="button" class="small" onClick=${save}>Save all mistakes as CSV</button>` : null}</div>`
        : null
    }
    ${entries.length ? html`<${Table} caption="The first lines of the file" columns=${columns} rows=${entries.slice(0, SHOWN)} rowKey=${(/** @type {Entry} */ { line }) => String(line)} />` : html`<p class="hint">The file has no lines below its header.</p>`}
    ${entries.length > SHOWN ? html`<p class="hint">${number(entries.length - SHOWN)} more lines</p>` : null}</section>`;
}

/** A value of a body as text. @param {unknown} value @returns {string} */
const shown = (value) =>
  value === undefined
    ? ''
    : Array.isArray(value)
      ? value.map(shown).join('; ')
      : isObject(value)
        ? Object.entries(value)
            .map(([name, one]) => `${name}: ${one}`)
            .join(', ')
        : String(value);

/**
 * @param {{ kind: typeof KINDS.vehicles, entries: Entry[], fleet: string | null, onClose: () => void }} props `fleet`:
 *   to which created drivers are attached
 */
function Run({ kind, entries, fleet, onClose }) {
  const [stage, setStage] = useState(/** @type {'doing' | 'done' | 'undoing' | 'undone'} */ ('doing'));
  const [outcomes, setOutcomes] = useState(/** @type {Outcome[]} */ ([]));
  const [progress, setProgress] = useState({ done: 0, total: entries.length });
  const [stopping, setStopping] = useState(false);
  const stop = useRef(new AbortController());
  const created = useRef(/** @type {Map<number, string>} */ (new Map()));
  const finish = (/** @type {Outcome[]} */ all, /** @type {'done' | 'undone'} */ after) => {
    setOutcomes(all);
    setStage(after);
    setStopping(false);
    notifyTabs();
  };
  const [unknown, setUnknown] = useState(/** @type {import('./import/batches.js').Batch[]} */ ([]));
  const create = async (/** @type {typeof unknown} */ batches, /** @type {Outcome[]} */ before) => {
    const found = await createAll(kind.operation, batches, {
      request,
      readPages,
      signal: stop.current.signal,
      onProgress: (done) => setProgress({ done: before.length + done, total: entries.length }),
      attach: fleet
        ? (id, idempotencyKey) =>
            request('POST', `${kind.path}/${id}/attach`, { fleet }, { idempotencyKey, quiet: true })
        : undefined,
    });
    for (const { item, result } of found.outcomes) if (result) created.current.set(item.line, result);
    setUnknown(found.unknown);
    finish([...before, ...found.outcomes], 'done');
  };
  const again = () => {
    stop.current = new AbortController();
    setStage('doing');
    setUnknown([]);
    void create(unknown, outcomes);
  };
  useEffect(() => {
    void create(batchesOf(entries), []);
    return () => stop.current.abort();
  }, []);
  const undo = async () => {
    const items = entries.filter(({ line }) => created.current.has(line));
    const total = items.length;
    stop.current = new AbortController();
    setStage('undoing');
    setOutcomes([]);
    setProgress({ done: 0, total });
    const remove = async (/** @type {Entry} */ { line }, /** @type {string} */ idempotencyKey) => {
      const path = `${kind.path}/${created.current.get(line)}`;
      await request('DELETE', path, undefined, { idempotencyKey, quiet: true });
      created.current.delete(line);
    };
    const onProgress = (/** @type {Outcome[]} */ { length: done }) => setProgress({ done, total });
    finish(await runAll(items, remove, { signal: stop.current.signal, onProgress }), 'undone');
  };
  const failed = outcomes.filter(({ error }) => error);
  const busy = stage === 'doing' || stage === 'undoing';
  const [done, all] = [number(outcomes.length - failed.length), number(progress.total)];
  // What runs is completed: the dialog stays until its outcome is there.
  const end = () => {
    stop.current.abort();
    setStopping(true);
  };
  const save = () =>
    download(
      'failed.csv',
      csvOf(
        ['line', 'error'],
        failed.map(({ item, error }) => [item.line, error?.message]),
      ),
    );
  return html`<${Dialog} title=${kind.title} onClose=${busy ? end : onClose}>
    <progress max=${progress.total} value=${progress.done} aria-label="Progress"></progress>
    <p role="status">${busy ? t`${number(progress.done)} of ${all}` : stage === 'undone' ? t`Undone: ${done} of ${all}.` : t`Imported: ${done} of ${all}.`}</p>
    ${unknown.length ? html`<div class="notice wait" role="alert"><p>${t('{0, plural, one {Whether # line was imported is unknown: the service cannot be reached.} other {Whether # lines were imported is unknown: the service cannot be reached.}}', unknown.flatMap((one) => one.entries).length)}</p><p>“Try again” finds out and imports what is missing; no line is imported twice.</p></div>` : null}
    ${
      failed.length
        ? html`<ul class="lines">${failed.slice(0, SHOWN).map(({ item, error }) => html`<li key=${item.line}><span>Line ${item.line}: ${kind.nameOf(item.body)}</span> <span class="field-error">${error?.message}</span></li>`)}</ul>
      ${busy ? null : html`<button type="button" class="small" onClick=${save}>Save what failed as CSV</button>`}`
        : null
    }
    <footer>${busy ? html`<button type="button" disabled=${stopping} onClick=${end}>${stopping ? t('Stopping…') : t('Stop')}</button>` : null}
      ${stage === 'done' && unknown.length ? html`<button type="button" onClick=${again}>Try again</button>` : null}
      ${stage === 'done' && !unknown.length && created.current.size ? html`<button type="button" onClick=${undo}>Undo</button>` : null}
      ${busy ? null : html`<button type="button" class="primary" onClick=${onClose}>Done</button>`}</footer></${Dialog}>`;
}

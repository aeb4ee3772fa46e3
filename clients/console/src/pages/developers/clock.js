// The test clock of the local runner: moving it ahead, and what it will do next.

import { t } from '../../i18n.js';
import { html, useState } from '../../ui/html.js';
import { local } from '../../api/client.js';
import { useAction, useRead } from '../../api/resource.js';
import { Empty, PageHead, Time } from '../../ui/elements.js';
import { ErrorNotice, ResourceError } from '../../ui/errors.js';
import { Table } from '../../ui/list.js';
import { Ref } from '../../ui/objects.js';
import { duration, exactMoment, moment, title } from '../../format.js';
import { advance, ahead, useNow } from '../../state/clock.js';
import { isOwn } from '../../state/session.js';
import { toast } from '../../ui/toasts.js';

/** @typedef {import('../../../types').DueWork} DueWork */

/** What the slider moves by, in seconds: fine at the beginning, up to a month. */
const STEPS = [
  60, 300, 600, 900, 1200, 1500, 1800, 2700, 3600, 5400, 7200, 10_800, 14_400, 21_600, 28_800, 43_200, 64_800, 86_400,
  172_800, 259_200, 432_000, 604_800, 1_209_600, 2_592_000,
];

/** Work that the name of its function does not describe. @type {Record<string, string>} */
const LABELS = { 'bill-fleet': t('Invoice or report of a fleet') };

export function TestClock() {
  const at = useNow(1000);
  const [step, setStep] = useState(6);
  const move = useAction((_, /** @type {number} */ seconds) => advance(seconds));
  const due = useRead((signal) => local('GET', '/_local/due', undefined, signal), [], { every: 2000 });
  const run = async (/** @type {number} */ seconds) => {
    const moved = await move.run(seconds);
    if (moved) toast(t`The clock is at ${moment(moved.now)}.${moved.message ? ` ${moved.message}` : ''}`);
  };
  const rows = due.data?.data ?? [];
  const columns = [
    {
      label: t('When'),
      cell: (/** @type {DueWork} */ one) => html`<${Time} at=${one.at} /> (<${Time} at=${one.at} ago />)`,
    },
    {
      label: t('What'),
      cell: (/** @type {DueWork} */ one) => LABELS[one.function] ?? title(one.function.replaceAll('-', ' ')),
    },
    {
      label: t('Of'),
      cell: (/** @type {DueWork} */ one) =>
        one.account && !isOwn(one.account) ? t('another account') : html`<${Ref} to=${one.object} />`,
    },
    {
      label: t('Move'),
      cell: (/** @type {DueWork} */ one) =>
        html`<button type="button" class="small" disabled=${move.busy} aria-label=${t`Move there: ${moment(one.at)}`} onClick=${() => run((Date.parse(one.at) - at) / 1000 + 1)}>Move there</button>`,
    },
  ];
  return html`<${PageHead} title="Test clock" intro="Moves the time of the whole service ahead. Everything that falls due on the way is done, at its time." />
    <section class="card clock-card">
      <p class="figure">${exactMoment(at)}</p>
      <p class="hint">${ahead.get() > 1000 ? t`${duration(ahead.get() / 1000)} ahead of this computer.` : t('The time of this computer.')} The clock never goes back.</p>
      <label for="clock-step">Move ahead by <strong>${duration(STEPS[step])}</strong>, to ${moment(at + STEPS[step] * 1000)}</label>
      <input id="clock-step" type="range" min="0" max=${STEPS.length - 1} step="1" value=${step} aria-valuetext=${duration(STEPS[step])} onInput=${(/** @type {InputChange} */ event) => setStep(event.currentTarget.valueAsNumber)} />
      <div class="actions"><button type="button" class="primary" disabled=${move.busy} onClick=${() => run(STEPS[step])}>${move.busy ? t('Moving…') : t`Move ${duration(STEPS[step])} ahead`}</button>
        <button type="button" disabled=${move.busy || !rows.length} onClick=${() => run((Date.parse(rows[0].at) - at) / 1000 + 1)}>Move to what is due next</button></div>
      ${move.error ? html`<${ErrorNotice} error=${move.error} />` : null}
    </section>
    <h2>Due next</h2><${ResourceError} resource=${due} />
    ${
      due.data
        ? rows.length
          ? html`<${Table} caption="Due next" columns=${columns} rows=${rows} rowKey=${(/** @type {DueWork} */ one) => `${one.at} ${one.function} ${one.object}`} />`
          : html`<${Empty} title="Nothing is due"><p>A reservation would be: it is confirmed 30 minutes before its start.</p></${Empty}>`
        : null
    }
    ${due.data && due.data.total > rows.length ? html`<p class="hint">The first ${rows.length} of ${due.data.total}.</p>` : null}`;
}

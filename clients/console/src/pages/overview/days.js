// Energy and cost by day, of the overview.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { Chart } from '../../charts/chart.js';
import { COLOURS } from '../../charts/data.js';
import { day, energy, minorUnits, money } from '../../format.js';

/**
 * Energy and cost of each day.
 * @param {{ found: { midnights: number[], days: import('../../../types').Sum[] }, currencies: string[] }} props
 */
export function DayCharts({ found, currencies }) {
  const slots = found.days.map((_, index) => ({ from: found.midnights[index], until: found.midnights[index + 1] }));
  const chart = (
    /** @type {string} */ name,
    /** @type {string} */ unit,
    /** @type {string} */ colour,
    /** @type {(sum: import('../../../types').Sum) => number} */ of,
    /** @type {(value: number) => string} */ format,
  ) =>
    html`<${Chart} key=${unit} title=${t`${name} by day`} unit=${unit} slots=${slots} areas=${[{ name, colour, values: found.days.map(of) }]} format=${format} window=${(/** @type {{ from: number }} */ { from }) => day(from)} />`;
  return html`${currencies.map((currency) => {
    const whole = minorUnits(1, currency);
    return chart(
      t('Cost'),
      currency.toUpperCase(),
      COLOURS[1],
      (sum) => (sum.spend[currency] ?? 0) / whole,
      (value) => money(Math.round(value * whole), currency),
    );
  })}${chart(
    t('Energy'),
    'kWh',
    COLOURS[0],
    (sum) => sum.energy / 1000,
    (value) => energy(value * 1000),
  )}`;
}

// The documents of a final invoice or a credit note: a PDF to read and to archive, and XML in the two syntaxes of EN
// 16931.

import { t } from '../../i18n.js';
import { html } from '../../ui/html.js';
import { address } from '../../api/client.js';
import { fileCurl, requestFile } from '../../api/commands.js';
import { useAction } from '../../api/resource.js';
import { copy } from '../../ui/elements.js';
import { ErrorNotice } from '../../ui/errors.js';
import { save } from '../../ui/csv.js';

/** The forms of a document, with what their files end with. @type {[string, string, string][]} */
const FORMATS = [
  ['pdf', 'PDF', '.pdf'],
  ['ubl', 'UBL', '-ubl.xml'],
  ['cii', 'CII', '-cii.xml'],
];

/** @param {{ of: import('../../../types').Invoice | import('../../../types').CreditNote }} props */
export function Documents({ of }) {
  const read = useAction(async (_, /** @type {string} */ format, /** @type {string} */ ending) => {
    save(`${of.number}${ending}`, await requestFile(pathOf(of, format)));
  });
  return html`<section class="card"><h2>Documents</h2>
    <div class="actions">${FORMATS.map(([format, label, ending]) => html`<button key=${format} type="button" disabled=${read.busy} onClick=${() => read.run(format, ending)}>Save as ${label}</button>`)}
      <button type="button" class="quiet small" onClick=${() => copy(fileCurl(pathOf(of, 'pdf'), `${of.number}.pdf`), t('curl command'))}>Copy as curl</button></div>
    <p class="hint">The PDF holds the document as CII too, where that can be written (Factur-X). All show it as it was issued.</p>
    ${read.error ? html`<${ErrorNotice} error=${read.error} />` : null}</section>`;
}

/** @param {{ object: string, id: string }} of @param {string} format */
const pathOf = ({ object, id }, format) => address(`/v1/${object}s/${id}/document`, { format });

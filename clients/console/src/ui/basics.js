// Small elements that the first page uses. elements.js has them all.

import { html, useEffect } from './html.js';
import { exactMoment, moment, relative } from '../values.js';
import { useNow } from '../state/clock.js';

/** @import { Content } from '../../types' */

/** A moment, with its exact value as the tooltip. `ago` shows how far away it is. */
export function Time(/** @type {{ at: string | number | null | undefined, ago?: boolean }} */ { at, ago = false }) {
  useNow(30_000);
  if (at === null || at === undefined) return html`<span class="none">–</span>`;
  return html`<time datetime=${new Date(at).toISOString()} title=${exactMoment(at)}>${ago ? relative(at) : moment(at)}</time>`;
}

/** An address of the web, as a link if it is one. */
export function WebLink(/** @type {{ url: string, children?: Content }} */ { url, children }) {
  const safe = /^https?:\/\//i.test(url);
  const content = children ?? url;
  return safe
    ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${content}</a>`
    : html`<span>${content}</span>`;
}

export const Loading = (/** @type {{ what: string }} */ { what }) =>
  html`<p class="loading" role="status">Loading ${what}…</p>`;

/** What to do when there is nothing to show. */
export const Empty = (/** @type {{ title: string, children?: Content }} */ { title: text, children }) =>
  html`<div class="empty"><p class="empty-title">${text}</p>${children}</div>`;

/** The heading of a page with its actions. */
export function PageHead(
  /** @type {{ title: string, children?: Content, intro?: Content }} */ { title: text, children, intro },
) {
  useEffect(() => {
    document.title = `${text} · Fleet Charging`;
  }, [text]);
  return html`<header class="page-head"><div><h1 tabindex="-1">${text}</h1>${intro ? html`<p class="intro">${intro}</p>` : null}</div>
    <div class="actions">${children}</div></header>`;
}

// The choice of the language, whose names are in the languages themselves.

import { html } from './html.js';
import { LANGUAGES, choose, language } from '../i18n.js';

export const LanguageSelect =
  () => html`<select class="language" aria-label="Language" onChange=${(/** @type {SelectChange} */ event) => choose(event.currentTarget.value)}>
  ${Object.entries(LANGUAGES).map(([code, text]) => html`<option key=${code} value=${code} lang=${code} selected=${code === language}>${text}</option>`)}</select>`;

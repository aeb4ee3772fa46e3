// Signing in with an API key, where the console is not signed in by the local runner.

import { t } from '../i18n.js';
import { html, useState } from '../ui/html.js';
import { useStore } from '../state/store.js';
import { config, runnerRefuses, session, signIn, signInAtRunner, signInReason, signOut } from '../state/session.js';
import { ApiError, request } from '../api/client.js';
import { Dialog, Field } from '../ui/elements.js';
import { LanguageSelect } from '../ui/language.js';
import { ErrorNotice } from '../ui/errors.js';

export function SignIn() {
  const reason = useStore(signInReason);
  const refused = useStore(runnerRefuses);
  const [api, setApi] = useState(config().api ?? '');
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const asksForAddress = config().api === null;

  async function submit(/** @type {Event} */ event) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    signIn({ api: api.trim().replace(/\/+$/, '').replace(/\/v1$/, ''), key: key.trim() });
    try {
      await request('GET', '/v1/fleets?limit=1');
    } catch (failure) {
      // A key without the scope of this request is a key nevertheless.
      if (failure instanceof ApiError && failure.kind !== 'forbidden') {
        if (session.get()) signOut(reason);
        setError(failure);
        setBusy(false);
      }
    }
  }

  return html`<section class="sign-in">
    <h1><img src="icon.svg" alt="" width="40" height="40" /> Fleet Charging</h1>
    ${reason && !error ? html`<div class="notice bad" role="alert"><p class="notice-title">You are signed out</p><p>${reason}</p></div>` : null}
    ${error ? html`<${ErrorNotice} error=${error} />` : null}
    ${
      refused
        ? html`<div class="notice" role="alert">
        <p class="notice-title">Open the address that the terminal shows</p>
        <p>The terminal in which the local runner was started shows the address of this console, <code>${location.origin}/?token=…</code>.
          Open it in this browser once: it signs the browser in, for later starts with the same data folder as well.</p>
      </div>`
        : null
    }
    ${config().runner ? html`<button type="button" class="primary wide-button" onClick=${() => signInAtRunner()}>Sign in at this runner</button><p class="or">or with a key</p>` : null}
    <form onSubmit=${submit}>
      ${
        asksForAddress
          ? html`<${Field} label="Address of the API" hint="For example https://api.fleet.example, without /v1.">
          ${(/** @type {string} */ id) => html`<input id=${id} type="url" required value=${api} onInput=${(/** @type {InputChange} */ event) => setApi(event.currentTarget.value)} />`}
        </${Field}>`
          : null
      }
      <${Field} label="API key" hint="Starts with sk_ or rk_. It stays in this tab, and is forgotten when the tab is closed.">
        ${(
          /** @type {string} */ id,
        ) => html`<input id=${id} type="password" required autocomplete="off" spellcheck=${false} value=${key}
          onInput=${(/** @type {InputChange} */ event) => setKey(event.currentTarget.value)} />`}
      </${Field}>
      <button type="submit" class="primary" disabled=${busy}>${busy ? t('Signing in…') : t('Sign in')}</button>
    </form>
  <p><${LanguageSelect} /></p></section>`;
}

/** Signing in over the page, which waits with what was entered there. */
export const SignInAgain = () =>
  html`<${Dialog} title="Sign in again" onClose=${() => signOut()}><${SignIn} /></${Dialog}>`;

// Keeps the place of those who use the keyboard. A browser drops the focus where its element goes away or is disabled.

/** What has the focus in place of an element that is gone: the answer of the open dialog, or the page. */
function next() {
  const dialog = [...document.querySelectorAll('dialog[open]')].pop();
  return dialog
    ? (dialog.querySelector('footer .primary:enabled') ?? dialog.querySelector('footer button:enabled, button'))
    : document.getElementById('content');
}

export function keepFocus() {
  // What has the focus, or had it until it was disabled or removed.
  let last = /** @type {HTMLButtonElement | null} */ (document.activeElement);
  const lost = () => last !== null && (!last.isConnected || last.matches(':disabled'));
  addEventListener('focusin', ({ target }) => {
    last = /** @type {HTMLButtonElement} */ (target);
  });
  addEventListener('focusout', () =>
    queueMicrotask(() => {
      // Whoever presses beside everything wants no focus.
      if (document.activeElement === document.body && !lost()) last = null;
    }),
  );
  const observer = new MutationObserver(() => {
    if (!last || document.activeElement !== document.body) return;
    const target = last.isConnected ? last : next();
    if (target instanceof HTMLElement) target.focus({ preventScroll: true });
  });
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] });
}

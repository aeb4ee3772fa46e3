// The colours of the style sheet, for what is drawn on a canvas.

/**
 * The colours that the variables of the style sheet have now, in light or dark.
 * @template {string} Name
 * @param {Record<Name, string>} variables for example { surface: '--surface' }
 * @returns {Record<Name, string>}
 */
export function coloursOf(variables) {
  // A canvas does not understand light-dark(); the computed colour of an element does not contain it any more.
  const probe = document.createElement('span');
  document.body.append(probe);
  const read = (/** @type {string} */ variable) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const pairs = /** @type {[Name, string][]} */ (Object.entries(variables));
  const found = Object.fromEntries(pairs.map(([name, variable]) => [name, read(variable)]));
  probe.remove();
  return /** @type {Record<Name, string>} */ (found);
}

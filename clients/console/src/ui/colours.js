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
  const read = (/** @type {[string, string]} */ [name, variable]) => {
    probe.style.color = `var(${variable})`;
    return [name, getComputedStyle(probe).color];
  };
  const found = Object.fromEntries(Object.entries(variables).map((/** @type {any} */ pair) => read(pair)));
  probe.remove();
  return /** @type {Record<Name, string>} */ (found);
}

// Components whose files are loaded when they are first shown, so that the first page is small.

import { t } from '../i18n.js';
import { html, useEffect, useState } from './html.js';
import { loadWithTexts } from './load.js';
import { toast } from './toasts.js';

/**
 * @template {string} Name
 * @template {Record<Name, (props: never) => import('../../types').Content>} Module
 * @param {() => Promise<Module>} load
 * @param {Name} name of the component in the module
 * @param {boolean} [alone] its texts and its look are those of the first page
 */
export function lazy(load, name, alone = false) {
  /** @type {Module[Name] | null} */
  let component = null;
  return function Lazy(/** @type {Parameters<Module[Name]>[0]} */ props) {
    const [, setLoaded] = useState(component !== null);
    useEffect(() => {
      if (component) return;
      (alone ? load() : loadWithTexts(load)).then(
        (module) => {
          component = module[name];
          setLoaded(true);
        },
        () => toast(t("The console's files cannot be reached."), 'bad'),
      );
    }, []);
    return component ? html`<${component} ...${props} />` : null;
  };
}

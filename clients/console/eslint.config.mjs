// Rules for the code of the console. The packages are installed below target/, so that nothing but the sources lies in
// this folder.

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const load = createRequire(fileURLToPath(new URL('../../target/tools/console/x.js', import.meta.url)));
const { configs } = load('@eslint/js');

/** Names that Node.js and, inside of `page.evaluate`, the browser define. */
const TEST_GLOBALS = Object.fromEntries(
  'process Buffer URL URLSearchParams fetch setTimeout setInterval performance console document window location history navigator innerWidth scrollY Event KeyboardEvent dispatchEvent getComputedStyle requestAnimationFrame crypto AbortController'
    .split(' ')
    .map((name) => [name, 'readonly']),
);

export default [
  { ignores: ['**/vendor/*.js', '**/*.d.ts'] },
  {
    files: ['**/*.js', '**/*.mjs'],
    ...configs.recommended,
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      ...configs.recommended.rules,
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
      'no-else-return': 'error',
      'no-implicit-coercion': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-unused-vars': ['error', { args: 'after-used', caughtErrors: 'all' }],
      'prefer-template': 'error',
      'max-len': [
        'error',
        { code: 120, ignoreTemplateLiterals: true, ignoreStrings: true, ignoreRegExpLiterals: true },
      ],
    },
  },
  // The types of the sources are checked, and with them every name.
  { files: ['**/src/**/*.js'], rules: { 'no-undef': 'off' } },
  { files: ['**/*.mjs'], languageOptions: { globals: TEST_GLOBALS } },
];

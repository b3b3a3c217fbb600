/** Where the words of the panel are: the English ones in the source, all of them in one catalogue a language. */
import { formatter } from '@lingui/format-po';
import { fileURLToPath } from 'node:url';

export default {
  sourceLocale: 'en',
  locales: ['en', 'es'],
  rootDir: fileURLToPath(new URL('../../src/panel', import.meta.url)),
  catalogs: [{ path: '<rootDir>/locales/{locale}', include: ['<rootDir>'], exclude: ['**/*.spec.ts', '**/*.d.ts'] }],
  // Line numbers change with every edit and say nothing that a search does not.
  format: formatter({ lineNumbers: false }),
};

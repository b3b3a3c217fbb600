/**
 * The words of the panel: English in the source, and one catalog for each language. Descriptions of events come from the
 * program, which marks them with `i18n`.
 */
import { formatter } from '@lingui/format-po';
import { fileURLToPath } from 'node:url';

export default {
  sourceLocale: 'en',
  locales: ['en', 'es'],
  rootDir: fileURLToPath(new URL('../../src/panel', import.meta.url)),
  catalogs: [
    {
      path: '<rootDir>/locales/{locale}',
      include: ['<rootDir>', '<rootDir>/../outbox/own-events.ts'],
      exclude: ['**/*.spec.ts', '**/*.d.ts'],
    },
  ],
  // Line numbers change with every edit and say nothing that a search does not.
  format: formatter({ lineNumbers: false }),
};

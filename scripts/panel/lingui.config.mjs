/**
 * Configuration of Lingui, which extracts the panel's English texts and writes a catalog for each language. Event
 * descriptions are texts of the program, marked with an `i18n` comment.
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
  // Line numbers would change with every edit of a source file.
  format: formatter({ lineNumbers: false }),
};

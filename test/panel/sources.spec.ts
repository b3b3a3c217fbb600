/** The panel's catalogs are complete, and its first page is small. */
import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { AUDIT_ACTIONS } from '../../src/records/audit-actions.js';
import { OWN_EVENTS } from '../../src/outbox/own-events.js';

/** Maximum size of all scripts of the first page, compressed. */
const MAX_FIRST_SCRIPT_BYTES = 250_000;

const node = (...args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
};

it.each([
  ['every text is in the catalogues: else run `npm run panel:words`', 'sync'],
  ['every text has its Spanish words', 'missing'],
])('%s', (_title, what) => {
  const { status, stdout, stderr } = node(
    'node_modules/@lingui/cli/dist/lingui.js',
    'check',
    what,
    '--config',
    'scripts/panel/lingui.config.mjs',
  );
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
});

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

it('the first page loads less than 250 KB of scripts', () => {
  const manifest = JSON.parse(readFileSync('dist/panel/.vite/manifest.json', 'utf8')) as Record<string, Chunk>;
  const loaded = new Set<string>();
  const load = (name: string): void => {
    const chunk = manifest[name];
    if (chunk === undefined || loaded.has(chunk.file)) return;
    loaded.add(chunk.file);
    for (const each of chunk.imports ?? []) load(each);
  };
  load('index.html');
  load('locales/en.po');
  const sizes = [...loaded].map((file) => gzipSync(readFileSync(`dist/panel/${file}`), { level: 9 }).length);
  expect(loaded.size).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_FIRST_SCRIPT_BYTES);
});

it('the catalogs contain the description of every gateway event (marked with `i18n`)', () => {
  const catalog = readFileSync('src/panel/locales/es.po', 'utf8').matchAll(
    /^#: \.\.\/outbox\/own-events\.ts\nmsgid "(.+)"\nmsgstr ".+"$/gm,
  );
  const descriptions = Object.values(OWN_EVENTS).map(({ description }) => description);
  expect(Array.from(catalog, ([, text]) => text).toSorted()).toEqual(descriptions.toSorted());
});

it('the audit log page has texts for exactly the audited actions', () => {
  const words = readFileSync('src/panel/audit-log/actions.ts', 'utf8').matchAll(/^ {4}'([a-z_]+\.[a-z_]+)': t`/gm);
  expect([...words].map(([, action]) => action).toSorted()).toEqual([...AUDIT_ACTIONS]);
});

it('every polling page uses `pollEvery`, so that it waits as long as the server asks', () => {
  const files = globSync('src/panel/**/*.{ts,tsx}').filter((file) => !file.endsWith('.spec.ts'));
  const intervals = files.flatMap((file) =>
    Array.from(readFileSync(file, 'utf8').matchAll(/refetchInterval:\s*(\w+)/g), ([, by]) => `${file} ${by}`),
  );
  expect(intervals.length).toBeGreaterThan(7);
  expect(intervals.filter((interval) => !interval.endsWith(' pollEvery'))).toEqual([]);
});

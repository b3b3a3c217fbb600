/** Files and lines are short enough to be read, or do not grow: a list names what is longer. */
import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

const MAX_LINES = 300;
/** Longer ones from before the rule: none may grow, and none may join them. */
const LONG: Readonly<Record<string, number>> = {
  'test/contract/quota-adjustments.spec.ts': 333,
  'test/e2e/admin-api.spec.ts': 469,
  'test/e2e/backend-failures.spec.ts': 358,
  'test/e2e/cli.spec.ts': 337,
  'test/e2e/customers-backend.spec.ts': 368,
  'test/e2e/errors.spec.ts': 301,
  'test/e2e/forwarding.spec.ts': 331,
  'test/e2e/live-streams.spec.ts': 309,
  'test/e2e/shutdown-streams.load.spec.ts': 337,
  'test/e2e/start-errors.spec.ts': 313,
  'test/e2e/streaming-guarantees.spec.ts': 344,
  'test/e2e/websockets.spec.ts': 333,
  'test/security/request-smuggling.spec.ts': 334,
  'test/support/broken-configs/openapi.ts': 576,
  'test/support/broken-configs/values.ts': 422,
};
/** Columns of a line, comments too. */
const MAX_COLUMNS = 120;
/** Folders of src that have longer lines still, in comments and texts: take one out with the last of its long lines. */
const WITH_LONG_LINES = [
  'accounts',
  'boot',
  'config',
  'config/checks',
  'config/model',
  'config/openapi',
  'config/source',
  'customers',
  'customers/database',
  'customers/model',
  'customers/seed',
  'events',
  'problems',
  'reference',
];

const files = globSync('src/**/*.ts').toSorted();
const tests = globSync('test/**/*.ts', {
  exclude: ['**/node_modules/**', '**/.venv/**', '**/generated/**', 'test/bench/peers/**'],
});
const textOf = (file: string) => readFileSync(file, 'utf8');
/** `src/limits/redis/scripts.ts` → `limits/redis`. */
const folderOf = (file: string) => relative('src', dirname(file));

describe('the source', () => {
  it(`has no file of more than ${MAX_LINES} lines, and no test has`, () => {
    const lengths = [...files, ...tests].map((file) => ({ file, lines: textOf(file).split('\n').length - 1 }));
    expect(lengths.length).toBeGreaterThan(600);
    expect(lengths.filter(({ file, lines }) => lines > (LONG[file] ?? MAX_LINES))).toEqual([]);
  });

  it(`has no line of more than ${MAX_COLUMNS} columns, but in folders that are still to come`, () => {
    const long = files.flatMap((file) => {
      const at = textOf(file)
        .split('\n')
        .flatMap((line, index) => (line.length > MAX_COLUMNS ? [`${file}:${index + 1}`] : []));
      return at.length === 0 ? [] : [{ folder: folderOf(file), at }];
    });
    expect(long.filter(({ folder }) => !WITH_LONG_LINES.includes(folder)).flatMap(({ at }) => at)).toEqual([]);
    expect(WITH_LONG_LINES.filter((each) => !long.some(({ folder }) => folder === each))).toEqual([]);
  });
});

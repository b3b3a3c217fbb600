/** Files and lines are short enough to be read, or do not grow: a list names the files that are longer. */
import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';

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

const files = globSync('src/**/*.{ts,tsx}', { exclude: ['src/panel/api/admin-api.d.ts'] }).toSorted();
const tests = globSync('test/**/*.{ts,tsx}', {
  exclude: ['**/node_modules/**', '**/.venv/**', '**/generated/**', 'test/bench/peers/**'],
});
const textOf = (file: string) => readFileSync(file, 'utf8');

describe('the source', () => {
  it(`has no file of more than ${MAX_LINES} lines, and no test has`, () => {
    const lengths = [...files, ...tests].map((file) => ({ file, lines: textOf(file).split('\n').length - 1 }));
    expect(lengths.length).toBeGreaterThan(600);
    expect(lengths.filter(({ file, lines }) => lines > (LONG[file] ?? MAX_LINES))).toEqual([]);
  });

  it(`has no line of more than ${MAX_COLUMNS} columns`, () => {
    const long = files.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, index) => (line.length > MAX_COLUMNS ? [`${file}:${index + 1}`] : [])),
    );
    expect(long).toEqual([]);
  });
});

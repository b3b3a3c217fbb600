/** Limits the length of files and lines. Size is a matter of judgment below the limit. */
import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';

/** A file beyond it does more than one thing; 40 to 250 lines are usual. */
const MAX_LINES = 450;
/** Longer tests from before the rule: none may grow, and none may join them. */
const LONG: Readonly<Record<string, number>> = {
  'test/e2e/admin-api.spec.ts': 476,
  'test/support/broken-configs/openapi.ts': 576,
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

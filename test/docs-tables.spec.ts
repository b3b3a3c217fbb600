/** Tables of the documentation: cells are short, and generated tables name their command. */
import { expect, it } from '@jest/globals';
import { existsSync, globSync, readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const marks = globSync('docs/**/*.md').flatMap((file) => {
  const text = readFileSync(file, 'utf8');
  return Array.from(text.matchAll(/^<!-- (\S.*?): written by `npm run (\S+) -- --write-docs` -->$/gm), (mark) => {
    const [, name = '', script = ''] = mark;
    return { file, name, script, rest: text.slice(mark.index) };
  });
});

it('the documentation has more than ten generated tables', () => expect(marks.length).toBeGreaterThan(10));

it.each(marks)('$file: $name is written by npm run $script', ({ name, script, rest }) => {
  const [, program = '', bench = ''] = /^node (\S+)(?: (\S+))?$/.exec(scripts[script] ?? '') ?? [];
  expect(rest).toContain(`<!-- end of ${name} -->`);
  // The mark is in a row of the bench harness or in the program itself. A load has its own file.
  const [, load] = name.split(' ');
  const source = readFileSync(program, 'utf8');
  const row = source.split('\n').find((line) => line.trim().startsWith(`${bench}: {`)) ?? '';
  const hasMark = row.includes(`command: '${script}'`) && row.includes(`mark: '${name}'`);
  const isLoad = load !== undefined && existsSync(`test/bench/loads/${load}.mjs`);
  expect(hasMark || isLoad || source.includes(`<!-- ${name}: written by`)).toBe(true);
});

it('no table cell has more than 300 characters', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', ...globSync('docs/**/*.md')];
  const rows = pages.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => ({ file, cells: line.split(/(?<!\\)\|/).map((cell) => cell.trim()) })),
  );
  expect(rows.length).toBeGreaterThan(1_000);
  const long = rows.flatMap(({ file, cells }) => cells.filter((cell) => cell.length > 300).map((cell) => [file, cell]));
  expect(long).toEqual([]);
});

/** A table of the documentation that says by which command it is made has that command, and its place to be put into. */
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

it('there are such tables', () => expect(marks.length).toBeGreaterThan(10));

it.each(marks)('$file: $name is made by npm run $script', ({ name, script, rest }) => {
  const [, program = ''] = /^node (\S+)$/.exec(scripts[script] ?? '') ?? [];
  const source = readFileSync(program, 'utf8');
  expect(source).toContain('write-docs');
  expect(rest).toContain(`<!-- end of ${name} -->`);
  const folder = program.slice(0, program.lastIndexOf('/'));
  const isMark = (file: string): boolean => readFileSync(file, 'utf8').includes(`<!-- ${name}: written by`);
  // A load is a file of its name, which puts its table behind its mark.
  const [, load] = name.split(' ');
  expect(load === undefined ? globSync(`${folder}/*.mjs`).some(isMark) : existsSync(`${folder}/${load}.mjs`)).toBe(
    true,
  );
});

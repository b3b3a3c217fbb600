/** The words that docs/glossary.md gives up are in no name of the source: no file's, no class's, no variable's. */
import { expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';

interface Gone {
  readonly words: readonly string[];
  /** Folders and files that have it still. */
  readonly stillIn: readonly string[];
}

const PAGE = readFileSync('docs/glossary.md', 'utf8');
/** Without the types that are written from the description of the admin API: what others see keeps its name. */
const FILES = globSync('src/**/*.{ts,tsx}', { exclude: ['src/panel/api/admin-api.d.ts'] }).toSorted();

/** Rows of the last table of the page: `| give back, taken back | refund | `src/x` |`. */
const GONE = PAGE.slice(PAGE.indexOf('## Words that are gone'))
  .split('\n')
  .filter((line) => /^\| (?!not \|)[a-z]/.test(line))
  .flatMap((line): Gone[] => {
    const [, not = '', , stillIn = ''] = line.split('|');
    const places = Array.from(stillIn.matchAll(/`([^`]+)`/g), ([, place = '']) => place);
    return not.split(',').map((words) => ({ words: words.trim().split(' '), stillIn: places }));
  });

/** `usageTakenBack`, `TAKEN_BACK`, `taken-back.ts` → its words, in small letters. */
const wordsOf = (name: string) => (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase());

/** Names of a file and of what is in it: not what stands in texts and comments. */
function namesIn(file: string): Set<string> {
  const names = new Set([basename(file)]);
  const visit = (node: ts.Node): void => {
    // What others see, in JSON, databases and labels, keeps its name.
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && !/[a-z]_[a-z]/.test(node.text)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest));
  return names;
}

function holds(name: string, words: readonly string[]): boolean {
  const all = wordsOf(name);
  return all.some((_, at) => words.every((word, index) => all[at + index] === word));
}

const NAMES = new Map(FILES.map((file) => [file, namesIn(file)]));

/** Names with the word, by file. */
const usesOf = ({ words }: Gone) =>
  [...NAMES].flatMap(([file, names]) => {
    const found = [...names].filter((name) => holds(name, words));
    return found.length === 0 ? [] : [{ file, found }];
  });

it.each(GONE.map((gone) => [gone.words.join(' '), gone] as const))('no name holds "%s"', (_words, gone) => {
  const elsewhere = usesOf(gone).filter(({ file }) => !gone.stillIn.some((place) => isIn(file, place)));
  expect(elsewhere.map(({ file, found }) => `${file}: ${found.join(', ')}`)).toEqual([]);
});

it('no folder is said to have a word still that has none of its row', () => {
  const used = GONE.map((gone) => ({ gone, files: usesOf(gone).map(({ file }) => file) }));
  const done = GONE.flatMap(({ stillIn }) => stillIn).filter(
    (place) => !used.some(({ gone, files }) => gone.stillIn.includes(place) && files.some((file) => isIn(file, place))),
  );
  expect([...new Set(done)]).toEqual([]);
});

it('finds a word however it is joined', () => {
  expect(GONE.length).toBeGreaterThan(5);
  for (const name of ['usageTakenBack', 'TAKEN_BACK', 'taken-back.ts', 'takenBackAtMs']) {
    expect([name, holds(name, ['taken', 'back'])]).toEqual([name, true]);
  }
  expect(holds('mistakenBackend', ['taken', 'back'])).toBe(false);
});

function isIn(file: string, place: string): boolean {
  return file === place || (file.startsWith(`${place}/`) && !file.slice(place.length + 1).includes('/'));
}

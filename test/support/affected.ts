/**
 * Finds the test files that the working tree can affect, for `npm test -- --changed`: nearest first, as many as fit
 * into a minute.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { compiled } from './jest/compile.js';

/** Starts the built program. Any source can affect a file that imports it. */
const STARTS_PROGRAM = 'test/support/program.ts';
/** Time that is assumed for a file that no run has timed yet. */
const UNKNOWN_MS = 1_500;
/** A changed file that so many files away import says little about them. */
const FAR = 3;

/** The files to run, and those that could be affected too but do not fit. */
export interface Affected {
  readonly run: readonly string[];
  readonly left: readonly string[];
}

/** Paths below the project that differ from the last commit, and what is new. */
export function changedFiles(root: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const changed = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')];
  return changed.filter((file) => file !== '');
}

/**
 * Chooses test files, nearest first. The changed test itself comes first, then importers of a changed file, fewer steps
 * first. Then come tests that start the program and share words with a changed path. Tests beside the source precede
 * the rest.
 * @param changed paths below `root`
 * @param durations time of each test file in its last run, in milliseconds, by path below `root`
 * @param roomMs time for all of them together on one worker
 */
export function affectedSpecs(
  root: string,
  changed: readonly string[],
  { durations, roomMs }: { readonly durations: Readonly<Record<string, number>>; readonly roomMs: number },
): Affected {
  const files = globSync('{src,test}/**/*.ts', { cwd: root }).filter(
    (file) => !/^src\/panel\/|node_modules/.test(file),
  );
  const importers = importersOf(root, files);
  const steps = stepsTo(changed, importers);
  const starters = new Set(stepsTo([STARTS_PROGRAM], importers).keys());
  const words = new Set(changed.filter((file) => file.startsWith('src/')).flatMap(wordsOf));
  const ranked = files
    .filter((file) => file.endsWith('.spec.ts') && !file.startsWith('test/performance/'))
    .map((file) => {
      const near = steps.get(file) ?? Infinity;
      const shared = starters.has(file) ? wordsOf(file).filter((word) => words.has(word)).length : 0;
      return { file, rank: near <= FAR ? near : shared > 0 ? FAR + 1 / shared : near };
    })
    .filter(({ rank }) => rank < Infinity)
    .toSorted(
      (one, other) =>
        one.rank - other.rank || Number(one.file.startsWith('test/')) - Number(other.file.startsWith('test/')),
    );
  let tookMs = 0;
  const hasRoom = ({ file }: { readonly file: string }) => {
    tookMs += durations[file] ?? UNKNOWN_MS;
    return tookMs <= roomMs;
  };
  const run = ranked.filter(hasRoom).map(({ file }) => file);
  const chosen = new Set(run);
  return { run, left: ranked.map(({ file }) => file).filter((file) => !chosen.has(file)) };
}

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']/g;

/** Importers of each file, by its path below `root`. Imports of types do not count. */
function importersOf(root: string, files: readonly string[]): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const [, specifier = ''] of compiled(join(root, file)).matchAll(IMPORT)) {
      const target = relative(root, join(root, dirname(file), specifier)).replace(/\.js$/, '.ts');
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  return importers;
}

/** How many imports lie between each file and the nearest of `from`. */
function stepsTo(from: readonly string[], importers: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const steps = new Map(from.map((file) => [file, 0]));
  const queue = [...from];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const importer of importers.get(file) ?? []) {
      if (steps.has(importer)) continue;
      steps.set(importer, (steps.get(file) ?? 0) + 1);
      queue.push(importer);
    }
  }
  return steps;
}

/** The words of a path that say what it is about: `src/webhooks/deliveries/lane.ts` has `webhook` and `lane`. */
function wordsOf(file: string): string[] {
  const [, ...parts] = file.replace(/(\.spec)?\.\w+$/, '').split('/');
  const words = parts.flatMap((part) => part.split('-')).map((word) => word.replace(/(?<=..)s$/, ''));
  return [...new Set(words)].filter(
    (word) => word.length > 2 && !['e2e', 'contract', 'security', 'the'].includes(word),
  );
}

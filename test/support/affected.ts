/**
 * Finds the test files that changes in the working tree can affect, for `npm test -- --changed`. Ranks the nearest
 * files first and selects as many as fit into the given time.
 */
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { compileFile } from './jest/compile.js';

/** Module that starts the built program. Its importers depend on the source without importing it. */
const STARTS_PROGRAM = 'test/support/program.ts';
/** Assumed duration of a test file without a recorded duration. */
const UNKNOWN_MS = 1_500;
/**
 * Maximum import distance that ranks a test file by its distance alone. Beyond it, importing a changed file says
 * little.
 */
const FAR = 3;

/** Test files to run, and affected test files that exceed the time limit. */
export interface Affected {
  readonly run: readonly string[];
  readonly left: readonly string[];
}

/** Returns the paths, relative to `root`, of files that differ from the last commit, and of untracked files. */
export function changedFiles(root: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const changed = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')];
  return changed.filter((file) => file !== '');
}

/**
 * Chooses test files, nearest first. A changed test file ranks first. Next are files that import a changed file, by the
 * number of import steps. After `FAR` steps come tests that start the program and share words with a changed source
 * path. Importers that are further away rank last. Among equal ranks, tests next to the source come before those in
 * `test/`.
 * @param changed paths relative to `root`
 * @param durations duration of each test file in its last run, in milliseconds, by path relative to `root`
 * @param roomMs maximum total duration of the chosen files on one worker
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

/** Returns the importers of each file, by its path relative to `root`. Ignores type-only imports. */
function importersOf(root: string, files: readonly string[]): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const [, specifier = ''] of compileFile(join(root, file)).matchAll(IMPORT)) {
      const target = relative(root, join(root, dirname(file), specifier)).replace(/\.js$/, '.ts');
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  return importers;
}

/** Returns, for each file, the number of import steps to the nearest file in `from`. */
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

/**
 * Returns the words of a path that identify its topic, without a plural `s`: `src/webhooks/sending/lane.ts` has
 * `webhook`, `sending` and `lane`.
 */
function wordsOf(file: string): string[] {
  const [, ...parts] = file.replace(/(\.spec)?\.\w+$/, '').split('/');
  const words = parts.flatMap((part) => part.split('-')).map((word) => word.replace(/(?<=..)s$/, ''));
  return [...new Set(words)].filter(
    (word) => word.length > 2 && !['e2e', 'contract', 'security', 'the'].includes(word),
  );
}

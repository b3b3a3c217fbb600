/** What the passes of a test run came to together, and what is tried a second time. */

/** JestRun is one pass: how Jest ended, and what it wrote; null where it did not come so far. */
export interface JestRun {
  readonly code: number | null;
  /** It had to be ended: a test left something open. */
  readonly leaked: boolean;
  readonly results: JestResults | null;
}

/** JestResults is the part of Jest's JSON that is read here. */
export interface JestResults {
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  /** Its path. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** RunSummary is the last line of a run, its exit code, and the tests that passed at the second try only. */
export interface RunSummary {
  readonly line: string;
  readonly exitCode: 0 | 1;
  readonly secondTries: readonly string[];
}

/** More files than these have not failed by chance. */
const MOST_SECOND_TRIES = 3;

/**
 * Files to try once more, alone: a few of some hundred that failed beside others on a busy machine. None where Jest itself failed, or where so
 * many did that it is no chance.
 */
export function filesToTryAgain(runs: readonly JestRun[]): string[] {
  if (runs.some(({ leaked, results }) => leaked || results === null)) return [];
  const failed = filesOf(runs).filter(hasFailed);
  return failed.length > MOST_SECOND_TRIES ? [] : failed.map(({ name }) => name);
}

/**
 * Splits files into those that there is time for and those that there is none for. Which are left out changes from day to day, so that none
 * is left out for good.
 */
export function filesInTime(
  files: readonly string[],
  { leftMs, eachMs, day }: { readonly leftMs: number; readonly eachMs: number; readonly day: number },
): { readonly run: readonly string[]; readonly leftOut: readonly string[] } {
  const most = Math.max(0, Math.floor(leftMs / eachMs));
  if (most >= files.length) return { run: files, leftOut: [] };
  const sorted = files.toSorted();
  const first = day % sorted.length;
  const turned = [...sorted.slice(first), ...sorted.slice(0, first)];
  return { run: turned.slice(0, most), leftOut: turned.slice(most) };
}

/** Of so many parts of the files one goes last, another each day. */
const PARTS = 10;

/** Where a test file stands: 0 for what stands beside the source, 2 for what goes last on that day, 1 for the others. */
export function orderOf(file: string, day: number | undefined): 0 | 1 | 2 {
  if (file.startsWith('src/')) return 0;
  const part = [...file].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0) % PARTS;
  return day !== undefined && part === day % PARTS ? 2 : 1;
}

/**
 * Sums the passes up: of a file that was tried again its second try counts, and is said. A file that could not run counts as a failure, and so
 * does a run without tests.
 */
export function summarise(runs: readonly JestRun[], again?: JestRun): RunSummary {
  const second = new Map((again?.results?.testResults ?? []).map((file) => [file.name, file]));
  const first = filesOf(runs);
  const files = first.map((file) => second.get(file.name) ?? file);
  const count = (...statuses: string[]): number =>
    files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => statuses.includes(status)).length;
  const passed = count('passed');
  const skipped = count('pending', 'todo', 'skipped', 'disabled');
  const unable = files.filter((file) => hasFailed(file) && !file.assertionResults.some(hasFailed)).length;
  let failed = count('failed') + unable;
  const all = again === undefined ? runs : [...runs, again];
  const isWhole = all.every((run) => !run.leaked && run.results !== null && endedAsItSays(run));
  if ((!isWhole || passed === 0) && failed === 0) failed = 1;
  const secondTries = first.flatMap((file) => (second.has(file.name) ? namesOfFailed(file) : []));
  const notes = [
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed === 0 && secondTries.length > 0 ? [`${secondTries.length} of them at the second try`] : []),
  ];
  return {
    line: [`${passed} passed, ${failed} failed`, ...notes].join(', '),
    exitCode: failed === 0 ? 0 : 1,
    secondTries,
  };
}

/** Whether Jest said that it failed only where a file did. */
function endedAsItSays({ code, results }: JestRun): boolean {
  return code === 0 || (results?.testResults ?? []).some(hasFailed);
}

function filesOf(runs: readonly JestRun[]): FileResult[] {
  return runs.flatMap(({ results }) => [...(results?.testResults ?? [])]);
}

function hasFailed({ status }: { readonly status: string }): boolean {
  return status === 'failed';
}

function namesOfFailed({ name, assertionResults }: FileResult): string[] {
  const failed = assertionResults.filter(hasFailed).map(({ fullName }) => `${name}: ${fullName}`);
  return failed.length > 0 ? failed : [name];
}

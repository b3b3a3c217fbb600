/** Summarizes a test run. */

/** JestRun describes how Jest ended, and its results. `results` is null if Jest wrote none. */
export interface JestRun {
  readonly code: number | null;
  /** Whether Jest had to be killed, because a test left something open or the run took too long. */
  readonly leaked: boolean;
  readonly results: JestResults | null;
}

/** JestResults is the part of Jest's JSON report that the summary needs. */
export interface JestResults {
  /** Number of test files that Jest was to run. */
  readonly numTotalTestSuites: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  /** Absolute path of the file. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** Quarantined is a test that is known to fail sometimes. It runs and is reported, but does not fail the run. */
export interface Quarantined {
  /** Path of its file, relative to the project. */
  readonly file: string;
  /** Full name, including the titles of its `describe` blocks. */
  readonly test: string;
  readonly reason: string;
  /** First day of the quarantine, `YYYY-MM-DD`. */
  readonly since: string;
}

/** Maximum number of quarantined tests. With more, the run fails. */
export const MAX_QUARANTINED = 5;

/** RunSummary holds the last line of a run, its exit code, and what to report before it. */
export interface RunSummary {
  readonly line: string;
  readonly exitCode: 0 | 1;
  /** Files that were to run, but have no result. */
  readonly withoutResult: readonly string[];
  /** Quarantined tests that failed. */
  readonly quarantined: readonly Quarantined[];
}

/**
 * Summarizes a run. The run fails if a test outside of quarantine fails, a file cannot run or has no result, no test
 * passes, or Jest fails. It also fails if more than `MAX_QUARANTINED` tests are in quarantine.
 * @param files absolute paths of all files to run; undefined if Jest chose them
 */
export function summarize(
  run: JestRun,
  { files, quarantine = [] }: { readonly files?: readonly string[]; readonly quarantine?: readonly Quarantined[] } = {},
): RunSummary {
  const results = run.results?.testResults ?? [];
  const count = (...statuses: string[]): number =>
    results.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => statuses.includes(status))
      .length;
  const known = results.flatMap(({ name, assertionResults }) =>
    quarantine.filter(
      ({ file, test }) =>
        name.endsWith(`/${file}`) && assertionResults.some((result) => hasFailed(result) && result.fullName === test),
    ),
  );
  const unable = results.filter((file) => hasFailed(file) && !file.assertionResults.some(hasFailed)).length;
  const withResult = new Set(results.map(({ name }) => name));
  const withoutResult = (files ?? []).filter((file) => !withResult.has(file));
  const unnamed = files === undefined ? (run.results?.numTotalTestSuites ?? 0) - results.length : 0;
  const tooMany = quarantine.length > MAX_QUARANTINED ? 1 : 0;
  let failed = count('failed') - known.length + unable + withoutResult.length + unnamed + tooMany;
  const passed = count('passed');
  const isWhole = !run.leaked && run.results !== null && (run.code === 0 || results.some(hasFailed));
  if ((!isWhole || passed === 0) && failed === 0) failed = 1;
  const skipped = count('pending', 'todo', 'skipped', 'disabled');
  const notes = [
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(known.length > 0 ? [`${known.length} in quarantine failed`] : []),
  ];
  return {
    line: [`${passed} passed, ${failed} failed`, ...notes].join(', '),
    exitCode: failed === 0 ? 0 : 1,
    withoutResult,
    quarantined: known,
  };
}

function hasFailed({ status }: { readonly status: string }): boolean {
  return status === 'failed';
}

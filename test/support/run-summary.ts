/** The result of a test run. */

/** JestRun says how Jest ended, and what it wrote; null where it wrote nothing. */
export interface JestRun {
  readonly code: number | null;
  /** It had to be ended: a test left something open, or it took too long. */
  readonly leaked: boolean;
  readonly results: JestResults | null;
}

/** JestResults is the part of Jest's JSON that is read here. */
export interface JestResults {
  /** How many files Jest set out to run. */
  readonly numTotalTestSuites: number;
  readonly testResults: readonly FileResult[];
}

interface FileResult {
  /** Path of the file. */
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** A test that is known to fail now and then: it runs, and is reported, and does not fail the run. */
export interface Quarantined {
  /** Path of its file below the project. */
  readonly file: string;
  /** Name with those of its `describe`s before it. */
  readonly test: string;
  readonly reason: string;
  /** The day from which it has stood here, `YYYY-MM-DD`. */
  readonly since: string;
}

/** More quarantined tests than these are a suite that nobody believes. */
export const MAX_QUARANTINED = 5;

/** RunSummary is the last line of a run, its exit code, and what to say before it. */
export interface RunSummary {
  readonly line: string;
  readonly exitCode: 0 | 1;
  /** Files that were to run and have no result. */
  readonly withoutResult: readonly string[];
  /** Quarantined tests that failed. */
  readonly quarantined: readonly Quarantined[];
}

/**
 * Summarizes a run. A failed test outside of quarantine is a failure. So is a file that could not run or has no result,
 * a run without tests, a failure of Jest, or a sixth test in quarantine.
 * @param files absolute paths of all files to run; undefined if Jest chose them
 */
export function summarise(
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

/**
 * Jest reporter that prints the progress of a run, at most every 15 seconds. It also appends the result of each test
 * file to the file `TRAILGATE_TEST_RESULTS`, so that a stopped run has results.
 */
import { appendFileSync } from 'node:fs';
import { progressLine } from './progress.ts';

/** Minimum time between two progress lines. */
const MIN_INTERVAL_MS = 15_000;

export default class ProgressReporter {
  #startedAtMs = performance.now();
  #printedAtMs = performance.now();

  /** Called by Jest when a test file has ended. */
  onTestFileResult(_test, result, results) {
    this.#appendResult(result);
    const nowMs = performance.now();
    if (nowMs - this.#printedAtMs < MIN_INTERVAL_MS) return;
    this.#printedAtMs = nowMs;
    const goneMs = nowMs - this.#startedAtMs;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites;
    const { numTotalTestSuites: total, numFailedTestSuites: failed } = results;
    process.stderr.write(`${progressLine({ done, total, failed, goneMs })}\n`);
  }

  /** Appends a result as a line of JSON, with the property names of Jest's JSON report. */
  #appendResult({ testFilePath: name, failureMessage, testExecError, testResults, perfStats }) {
    const hasFailed = testExecError !== undefined || testResults.some(({ status }) => status === 'failed');
    const file = {
      name,
      status: hasFailed ? 'failed' : 'passed',
      message: failureMessage ?? '',
      startTime: perfStats.start,
      endTime: perfStats.end,
      assertionResults: testResults.map(({ status, fullName, failureMessages }) => ({
        status,
        fullName,
        failureMessages,
      })),
    };
    appendFileSync(process.env.TRAILGATE_TEST_RESULTS, `${JSON.stringify(file)}\n`);
  }
}

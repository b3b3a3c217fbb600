/**
 * A reporter of Jest that says every quarter of a minute how far the run is, and writes the result of each file when it has ended: a run that
 * must be stopped has results, too.
 */
import { appendFileSync } from 'node:fs';
import { progressLine } from './progress.ts';

/** The least time between two lines. */
const EVERY_MS = 15_000;

export default class ProgressReporter {
  #startedAtMs = performance.now();
  #saidAtMs = performance.now();

  /** Jest calls it when a test file has ended. */
  onTestFileResult(_test, result, results) {
    this.#keep(result);
    const nowMs = performance.now();
    if (nowMs - this.#saidAtMs < EVERY_MS) return;
    this.#saidAtMs = nowMs;
    const goneMs = nowMs - this.#startedAtMs;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites;
    const { numTotalTestSuites: total, numFailedTestSuites: failed } = results;
    process.stderr.write(`${progressLine({ done, total, failed, goneMs })}\n`);
  }

  /** As a line of JSON, in the words of Jest's own report. */
  #keep({ testFilePath: name, failureMessage, testExecError, testResults, perfStats }) {
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

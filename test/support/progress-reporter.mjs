/** A reporter of Jest that says every quarter of a minute how far the run is. */
import { progressLine } from './progress.ts';

/** The least time between two lines. */
const EVERY_MS = 15_000;

export default class ProgressReporter {
  #startedAtMs = performance.now();
  #saidAtMs = performance.now();

  /** Jest calls it when a test file has ended. */
  onTestFileResult(_test, _result, results) {
    const nowMs = performance.now();
    if (nowMs - this.#saidAtMs < EVERY_MS) return;
    this.#saidAtMs = nowMs;
    const goneMs = nowMs - this.#startedAtMs;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites;
    const { numTotalTestSuites: total, numFailedTestSuites: failed } = results;
    process.stderr.write(`${progressLine({ done, total, failed, goneMs })}\n`);
  }
}

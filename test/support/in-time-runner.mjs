/**
 * The runner of a test file: jest-circus, or, once `TRAILGATE_TEST_DEADLINE_MS` (by the wall clock) is over, one skipped test that says so.
 * `test/run.mjs` sets the deadline in CI, which ends a run that takes too long: then nobody would know what passed and what failed.
 */
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { NO_TIME_LEFT, titleOfSkipped } from './skipped.ts';

// CommonJS with a default export, which `import` gives with one `default` too many.
const { default: circus } = createRequire(import.meta.url)('jest-circus/runner');

export default function runInTime(globalConfig, config, environment, runtime, testPath, sendMessage) {
  const deadlineMs = Number(process.env.TRAILGATE_TEST_DEADLINE_MS ?? Infinity);
  if (Date.now() < deadlineMs) return circus(globalConfig, config, environment, runtime, testPath, sendMessage);
  return Promise.resolve(leftOut(testPath, relative(config.rootDir, testPath)));
}

/** What Jest gets of a file that was not run. */
function leftOut(testFilePath, name) {
  const describe = titleOfSkipped(name, NO_TIME_LEFT);
  const test = {
    ancestorTitles: [describe],
    title: 'was not run',
    fullName: `${describe} was not run`,
    status: 'pending',
    duration: null,
    failureDetails: [],
    failureMessages: [],
    invocations: 0,
    location: null,
    numPassingAsserts: 0,
    retryReasons: [],
  };
  const nowMs = Date.now();
  return {
    testFilePath,
    testResults: [test],
    numPassingTests: 0,
    numFailingTests: 0,
    numPendingTests: 1,
    numTodoTests: 0,
    leaks: false,
    openHandles: [],
    perfStats: { start: nowMs, end: nowMs, runtime: 0, slow: false },
    skipped: true,
    snapshot: { added: 0, fileDeleted: false, matched: 0, unchecked: 0, uncheckedKeys: [], unmatched: 0, updated: 0 },
  };
}

/**
 * `npm test [-- arguments of Jest]`: starts one Redis and one PostgreSQL for the whole run, runs Jest, and stops the
 * servers. May install missing servers first. The last line is `N passed, N failed`, with `, N skipped` if tests were
 * skipped.
 *
 * Runs all tests except the performance tests. The first argument can select others:
 *
 * - `--unit`: tests in `src/`, without servers
 * - `--performance`: tests of time and memory, one file at a time
 * - `--changed`: tests that the changes in the working tree can affect, up to about a minute
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import './support/typescript-imports.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/**
 * Arguments of Node that run Jest. Tests allocate many short-lived objects, and a larger young generation copies fewer
 * of them. Jest's workers inherit the options.
 */
const JEST = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64', 'node_modules/jest/bin/jest.js'];
const PERFORMANCE = 'test/performance/';
/** Default number of workers. It exceeds the number of cores, because most test files wait more than they compute. */
const WORKERS = availableParallelism() + 2;
/** Number of workers for `--unit`. Unit tests wait less, and each additional worker must load the modules again. */
const UNIT_WORKERS = availableParallelism() + 1;
/** Time per worker for the tests of `--changed`. With the start of Jest the run takes about a minute. */
const CHANGED_ROOM_MS = 45_000;
/**
 * Maximum time of a run, set in CI. After it, the run is stopped. Finished files keep their results. The others are
 * listed and count as failed.
 */
const BUDGET_MS = Number(process.env.TRAILGATE_TEST_SECONDS ?? Infinity) * 1_000;
const PROGRESS = '<rootDir>/test/support/progress-reporter.mjs';
/** Folder of Node's compile cache for Jest and the modules that tests load. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/tests/v8');
/** File with the duration of each test file in its last run, in milliseconds. */
const DURATIONS = join(ROOT, 'node_modules/.cache/tests/durations.json');
/** Free space that `/dev/shm` must have to be used: slightly more than a run writes. */
const SCRATCH_BYTES = 6 * 2 ** 30;
/** Maximum time for Jest to exit after it has written its results. Then a test has left something open. */
const EXIT_GRACE_MS = 15_000;
/** Maximum number of characters of a failure in the summary at the end of the log. */
const FAILURE_CHARACTERS = 600;

const { findRedisServer, findPostgresBin, howToGet, installPackages, mayInstall, missingPackages } =
  await import('./support/servers.ts');
const { startRedis } = await import('./support/redis.ts');
const { startPostgres } = await import('./support/postgres.ts');
const { countReasons } = await import('./support/skipped.ts');
const { inWords } = await import('./support/progress.ts');
const { summarize } = await import('./support/run-summary.ts');
const { affectedSpecs, changedFiles } = await import('./support/affected.ts');

function installMissingPackages() {
  if (missingPackages().length > 0 && mayInstall()) {
    console.error(`Installing ${missingPackages().join(' and ')} for the tests.`);
    const failure = installPackages(missingPackages());
    if (failure !== null) console.error(`The installation failed: ${failure}.`);
  }
  if (missingPackages().length > 0) console.error(howToGet(missingPackages()));
}

/**
 * Starts Redis and PostgreSQL, unless `REDIS_URL` or `DATABASE_URL` names one or the binaries are missing.
 * @returns the servers, which the caller must stop, and environment variables for the test files
 */
async function startServers() {
  const { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = process.env;
  const redis = redisUrl === undefined && findRedisServer() !== null ? await startRedis() : undefined;
  const postgres = databaseUrl === undefined && findPostgresBin() !== null ? await startPostgres() : undefined;
  return {
    servers: [redis, postgres].filter((server) => server !== undefined),
    environment: { TEST_REDIS_URL: redis?.url ?? redisUrl, TEST_DATABASE_URL: postgres?.url ?? databaseUrl },
  };
}

/**
 * Runs Jest. Kills it after `BUDGET_MS`, or if it does not exit after it has written its results.
 * @param folder folder for the files with results
 * @returns the exit code, whether Jest was killed, and the results. `results` is null if no test file has finished.
 */
async function runJest(args, environment, folder) {
  const resultFolder = mkdtempSync(join(folder, 'results-'));
  const resultFile = join(resultFolder, 'results.json');
  const partialResultFile = join(resultFolder, 'so-far.jsonl');
  const report = ['--json', `--outputFile=${resultFile}`, '--reporters=default', `--reporters=${PROGRESS}`];
  // With --json, Jest writes its readable report to stderr. Its stdout would contain only the name of the file.
  const jest = spawn(process.execPath, [...JEST, ...report, ...args], {
    cwd: ROOT,
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      ...environment,
      TRAILGATE_TEST_RESULTS: partialResultFile,
    },
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  let killReason;
  let writtenAt;
  const startedAt = performance.now();
  const killJest = (reason) => {
    killReason = reason;
    jest.kill('SIGKILL');
  };
  const watch = setInterval(() => {
    if (existsSync(resultFile)) writtenAt ??= performance.now();
    if (writtenAt !== undefined && performance.now() - writtenAt > EXIT_GRACE_MS) {
      killJest('Jest did not exit: a test left a socket, timer or process open (--detectOpenHandles).');
    }
    if (performance.now() - startedAt > BUDGET_MS) killJest('The run took too long.');
  }, 500);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest.kill(signal));
  const [code] = await once(jest, 'exit');
  clearInterval(watch);
  if (killReason !== undefined) console.error(killReason);
  const results = existsSync(resultFile)
    ? JSON.parse(readFileSync(resultFile, 'utf8'))
    : readFinishedFiles(partialResultFile);
  return { code, leaked: killReason !== undefined, results };
}

/** Returns the results of the test files that finished before the run was stopped, or null if there are none. */
function readFinishedFiles(path) {
  if (!existsSync(path)) return null;
  // Drops the text after the last line break, which is empty or an incomplete line.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return { numTotalTestSuites: lines.length, testResults: lines.map((line) => JSON.parse(line)) };
}

/** Returns the paths of the test files that match a pattern, except those below the folder `excluded`. */
const findSpecs = (pattern, excluded) =>
  globSync(pattern, { cwd: ROOT })
    .filter((file) => !file.includes('node_modules') && (excluded === undefined || !file.startsWith(excluded)))
    .map((file) => join(ROOT, file));

/** Groups of tests that an option selects, with their folder and additional arguments of Jest. */
const TIERS = {
  '--unit': { folder: 'src/', args: [] },
  '--performance': { folder: PERFORMANCE, args: ['--runInBand'] },
};

/**
 * Returns the arguments of Jest, and the test files that must have a result. `files` is undefined if Jest selects the
 * files from the arguments.
 */
function selectTests([first, ...others]) {
  if (first === undefined) {
    const files = findSpecs('{src,test}/**/*.spec.ts', PERFORMANCE);
    return { args: [`--testPathIgnorePatterns=${PERFORMANCE}`], files };
  }
  if (first === '--changed') return selectChanged(others);
  const tier = TIERS[first];
  if (tier === undefined) return { args: [first, ...others] };
  const { folder, args } = tier;
  // Paths in the arguments select test files of the tier.
  if (others.some((arg) => arg.startsWith(folder))) return { args: [...args, ...others] };
  const files = others.length === 0 ? findSpecs(`${folder}**/*.spec.ts`) : undefined;
  return { args: [...args, `--testPathPatterns=${ROOT}${folder}`, ...others], files };
}

function selectChanged(others) {
  const durations = readDurations();
  const { run, left } = affectedSpecs(ROOT, changedFiles(ROOT), { durations, roomMs: CHANGED_ROOM_MS * WORKERS });
  const more = left.length === 0 ? '' : ` ${left.length} more do not fit into a minute: "npm test" runs all.`;
  console.error(`Running ${run.length} test files that the changes can affect.${more}`);
  return { args: ['--runTestsByPath', ...run, ...others], files: run.map((file) => join(ROOT, file)) };
}

function readDurations() {
  return existsSync(DURATIONS) ? JSON.parse(readFileSync(DURATIONS, 'utf8')) : {};
}

function writeDurations({ results }) {
  const took = (results?.testResults ?? []).map(({ name, startTime, endTime }) => [
    relative(ROOT, name),
    endTime - startTime,
  ]);
  mkdirSync(dirname(DURATIONS), { recursive: true });
  // Replaces the file atomically, because another run may read it.
  const written = `${DURATIONS}.${process.pid}`;
  writeFileSync(written, JSON.stringify({ ...readDurations(), ...Object.fromEntries(took) }));
  renameSync(written, DURATIONS);
}

/** Prints a line for each reason why tests were skipped, with their number. */
function printSkipped({ results }) {
  const tests = (results?.testResults ?? []).flatMap((file) => file.assertionResults);
  for (const [reason, count] of countReasons(tests)) console.error(`Skipped ${count}: ${reason}.`);
}

/** Prints a line for each failed test and file, except quarantined tests, so that the end of the log lists them all. */
function printFailures({ results }, quarantined) {
  const isQuarantined = (file, test) => quarantined.some((each) => each.file === file && each.test === test);
  for (const { name, status: outcome, message, assertionResults } of results?.testResults ?? []) {
    const file = relative(ROOT, name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    const ours = failed.filter(({ fullName }) => !isQuarantined(file, fullName));
    const lines = ours.map(
      ({ fullName, failureMessages }) => `${fullName}: ${failureMessages.map(withoutStack).join(' ')}`,
    );
    if (outcome === 'failed' && failed.length === 0) lines.push(message);
    for (const line of lines) console.log(`Failed: ${file}: ${shorten(line)}`);
  }
}

const withoutStack = (message) => message.split('\n    at ', 1)[0];

function shorten(text) {
  return stripVTControlCharacters(text).replace(/\s+/g, ' ').slice(0, FAILURE_CHARACTERS);
}

/**
 * Returns the folder for temporary files: `/dev/shm` if it has enough space, because databases and browsers write
 * thousands of small files.
 */
function scratchFolder() {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > SCRATCH_BYTES ? memory : tmpdir();
}

// All temporary files of the run are in this folder. The user that runs PostgreSQL must be able to traverse it.
const folder = mkdtempSync(join(scratchFolder(), 'trailgate-test-'));
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;
let outcome = { line: '0 passed, 1 failed', exitCode: 1 };
try {
  const given = process.argv.slice(2);
  const needsServers = given[0] !== '--unit';
  if (needsServers) installMissingPackages();
  const { servers, environment } = needsServers ? await startServers() : { servers: [], environment: {} };
  try {
    const startedAtMs = performance.now();
    const { args, files } = selectTests(given);
    const setsWorkers = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
    const workers = given[0] === '--unit' ? UNIT_WORKERS : WORKERS;
    const run = await runJest(setsWorkers ? args : [`--maxWorkers=${workers}`, ...args], environment, folder);
    writeDurations(run);
    printSkipped(run);
    console.error(`It took ${inWords(performance.now() - startedAtMs)}.`);
    const quarantine = JSON.parse(readFileSync(join(ROOT, 'test/quarantine.json'), 'utf8'));
    outcome = summarize(run, { files, quarantine });
    printFailures(run, outcome.quarantined);
    for (const file of outcome.withoutResult) console.error(`No result of ${relative(ROOT, file)}.`);
    for (const { file, test, reason } of outcome.quarantined)
      console.error(`In quarantine: ${file}: ${test} (${reason})`);
    if (outcome.line.startsWith('0 passed')) console.error('No test passed.');
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
} catch (error) {
  console.error(error);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(outcome.line);
process.exitCode = outcome.exitCode;

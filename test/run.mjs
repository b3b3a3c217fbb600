/**
 * What `npm test [-- arguments of Jest]` runs: finds (or installs) and starts one Redis and one PostgreSQL for the whole
 * run, runs Jest, stops them, and ends with one line: `N passed, N failed` (`, N skipped` where some were).
 * As first argument `--unit` runs what stands beside the source, without servers; `--performance` what asserts time or memory, one file after
 * the other; `--changed` what the working tree can affect, for a minute. Without any, all but the performance tests.
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
import { registerHooks } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Tests make much that is soon garbage: where the young have more room, fewer of them are copied. Workers have the same options. */
const JEST = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64', 'node_modules/jest/bin/jest.js'];
const PERFORMANCE = 'test/performance/';
/** Test files wait more than they work. */
const WORKERS = availableParallelism() + 2;
/** Those beside the source wait less, and each worker loads anew what they need. */
const UNIT_WORKERS = availableParallelism() + 1;
/** What is changed is tested within a minute, with what Jest needs to start. */
const CHANGED_ROOM_MS = 45_000;
/** After how long a run is stopped. CI sets it: the files that have ended keep their results, the others are named and count as failed. */
const BUDGET_MS = Number(process.env.TRAILGATE_TEST_SECONDS ?? Infinity) * 1_000;
const PROGRESS = '<rootDir>/test/support/progress-reporter.mjs';
/** What V8 has made of Jest and of what tests load. */
const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/tests/v8');
/** What each file took when it ran last, in milliseconds. */
const DURATIONS = join(ROOT, 'node_modules/.cache/tests/durations.json');
/** What a run writes at most, and some more. */
const SCRATCH_BYTES = 6 * 2 ** 30;
/** How long Jest may take to end once its results are written; what lasts longer is something that a test left open. */
const EXIT_GRACE_MS = 15_000;
/** How much of a failure the end of the log repeats. */
const FAILURE_CHARACTERS = 600;

/** The support files are TypeScript, which Node runs as it is, but their imports end in `.js`, as the compiler wants. */
registerHooks({
  resolve(specifier, context, next) {
    const fromSupport = specifier.startsWith('.') && context.parentURL?.includes('/test/support/');
    return next(fromSupport ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});
const { findRedisServer, findPostgresBin, howToGet, installPackages, mayInstall, missingPackages } =
  await import('./support/servers.ts');
const { startRedis } = await import('./support/redis.ts');
const { startPostgres } = await import('./support/postgres.ts');
const { countReasons } = await import('./support/skipped.ts');
const { inWords } = await import('./support/progress.ts');
const { summarize } = await import('./support/run-summary.ts');
const { affectedSpecs, changedFiles } = await import('./support/affected.ts');

function installWhatIsMissing() {
  if (missingPackages().length > 0 && mayInstall()) {
    console.error(`Installing ${missingPackages().join(' and ')} for the tests.`);
    const failure = installPackages(missingPackages());
    if (failure !== null) console.error(`That did not work: ${failure}.`);
  }
  if (missingPackages().length > 0) console.error(howToGet(missingPackages()));
}

/** Starts what was not given by URL; returns the servers to stop and the environment that the test files read. */
async function startServers() {
  const { REDIS_URL: redisUrl, DATABASE_URL: databaseUrl } = process.env;
  const redis = redisUrl === undefined && findRedisServer() !== null ? await startRedis() : undefined;
  const postgres = databaseUrl === undefined && findPostgresBin() !== null ? await startPostgres() : undefined;
  return {
    servers: [redis, postgres].filter((server) => server !== undefined),
    environment: { TEST_REDIS_URL: redis?.url ?? redisUrl, TEST_DATABASE_URL: postgres?.url ?? databaseUrl },
  };
}

/** Runs Jest to its end; returns its exit code and its results, null where it did not come so far. */
async function runJest(args, environment, folder) {
  const resultFolder = mkdtempSync(join(folder, 'results-'));
  const resultFile = join(resultFolder, 'results.json');
  const soFar = join(resultFolder, 'so-far.jsonl');
  const report = ['--json', `--outputFile=${resultFile}`, '--reporters=default', `--reporters=${PROGRESS}`];
  // With --json Jest writes its readable report to stderr; stdout would only name the file.
  const jest = spawn(process.execPath, [...JEST, ...report, ...args], {
    cwd: ROOT,
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...environment, TRAILGATE_TEST_RESULTS: soFar },
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  let stuck;
  let writtenAt;
  const startedAt = performance.now();
  const end = (reason) => {
    stuck = reason;
    jest.kill('SIGKILL');
  };
  const watch = setInterval(() => {
    if (existsSync(resultFile)) writtenAt ??= performance.now();
    if (writtenAt !== undefined && performance.now() - writtenAt > EXIT_GRACE_MS) {
      end('Jest did not end: a test left a socket, timer or process open (--detectOpenHandles).');
    }
    if (performance.now() - startedAt > BUDGET_MS) end('The run took too long.');
  }, 500);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest.kill(signal));
  const [code] = await once(jest, 'exit');
  clearInterval(watch);
  if (stuck !== undefined) console.error(stuck);
  const results = existsSync(resultFile) ? JSON.parse(readFileSync(resultFile, 'utf8')) : readSoFar(soFar);
  return { code, leaked: stuck !== undefined, results };
}

/** The results of the files that ended before the run was stopped; null where there are none. */
function readSoFar(path) {
  if (!existsSync(path)) return null;
  // The last line may be half written.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return { numTotalTestSuites: lines.length, testResults: lines.map((line) => JSON.parse(line)) };
}

const specs = (pattern, leftOut) =>
  globSync(pattern, { cwd: ROOT })
    .filter((file) => !file.includes('node_modules') && (leftOut === undefined || !file.startsWith(leftOut)))
    .map((file) => join(ROOT, file));

/** The tiers that have a name: their folder, and more arguments of Jest. */
const TIERS = {
  '--unit': { folder: 'src/', args: [] },
  '--performance': { folder: PERFORMANCE, args: ['--runInBand'] },
};

/** What to run: the arguments of Jest, and all files that must have a result, undefined where Jest chooses them. */
function whatToRun([first, ...others]) {
  if (first === undefined) {
    const files = specs('{src,test}/**/*.spec.ts', PERFORMANCE);
    return { args: [`--testPathIgnorePatterns=${PERFORMANCE}`], files };
  }
  if (first === '--changed') return changed(others);
  const tier = TIERS[first];
  if (tier === undefined) return { args: [first, ...others] };
  const { folder, args } = tier;
  // Paths that are given choose among the files of the tier.
  if (others.some((arg) => arg.startsWith(folder))) return { args: [...args, ...others] };
  const files = others.length === 0 ? specs(`${folder}**/*.spec.ts`) : undefined;
  return { args: [...args, `--testPathPatterns=${ROOT}${folder}`, ...others], files };
}

function changed(others) {
  const durations = readDurations();
  const { run, left } = affectedSpecs(ROOT, changedFiles(ROOT), { durations, roomMs: CHANGED_ROOM_MS * WORKERS });
  const more = left.length === 0 ? '' : ` ${left.length} more could be: "npm test" runs all.`;
  console.error(`${run.length} test files can be affected by what changed.${more}`);
  return { args: ['--runTestsByPath', ...run, ...others], files: run.map((file) => join(ROOT, file)) };
}

function readDurations() {
  return existsSync(DURATIONS) ? JSON.parse(readFileSync(DURATIONS, 'utf8')) : {};
}

function keepDurations({ results }) {
  const took = (results?.testResults ?? []).map(({ name, startTime, endTime }) => [
    relative(ROOT, name),
    endTime - startTime,
  ]);
  mkdirSync(dirname(DURATIONS), { recursive: true });
  // In one step: another run may read it.
  const written = `${DURATIONS}.${process.pid}`;
  writeFileSync(written, JSON.stringify({ ...readDurations(), ...Object.fromEntries(took) }));
  renameSync(written, DURATIONS);
}

/** What was skipped, and why: a line for each reason. Tests that Jest's own arguments leave out have none. */
function saySkipped({ results }) {
  const tests = (results?.testResults ?? []).flatMap((file) => file.assertionResults);
  for (const [reason, count] of countReasons(tests)) console.error(`Skipped ${count}: ${reason}.`);
}

/** Prints a line for each test or file that failed, so that the end of a long log names them all. */
function sayFailed({ results }, quarantined) {
  const isQuarantined = (file, test) => quarantined.some((each) => each.file === file && each.test === test);
  for (const { name, status: outcome, message, assertionResults } of results?.testResults ?? []) {
    const file = relative(ROOT, name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    const ours = failed.filter(({ fullName }) => !isQuarantined(file, fullName));
    const lines = ours.map(
      ({ fullName, failureMessages }) => `${fullName}: ${failureMessages.map(withoutStack).join(' ')}`,
    );
    if (outcome === 'failed' && failed.length === 0) lines.push(message);
    for (const line of lines) console.log(`Failed: ${file}: ${shortened(line)}`);
  }
}

const withoutStack = (message) => message.split('\n    at ', 1)[0];

function shortened(text) {
  return stripVTControlCharacters(text).replace(/\s+/g, ' ').slice(0, FAILURE_CHARACTERS);
}

/** Memory, where it has the room: databases and browsers write and forget thousands of small files. */
function scratchFolder() {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > SCRATCH_BYTES ? memory : tmpdir();
}

// Everything that the run writes goes into one folder; PostgreSQL's user must be able to walk through it.
const folder = mkdtempSync(join(scratchFolder(), 'trailgate-test-'));
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;
let outcome = { line: '0 passed, 1 failed', exitCode: 1 };
try {
  const given = process.argv.slice(2);
  const needsServers = given[0] !== '--unit';
  if (needsServers) installWhatIsMissing();
  const { servers, environment } = needsServers ? await startServers() : { servers: [], environment: {} };
  try {
    const startedAtMs = performance.now();
    const { args, files } = whatToRun(given);
    const saysWorkers = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
    const workers = given[0] === '--unit' ? UNIT_WORKERS : WORKERS;
    const run = await runJest(saysWorkers ? args : [`--maxWorkers=${workers}`, ...args], environment, folder);
    keepDurations(run);
    saySkipped(run);
    console.error(`It took ${inWords(performance.now() - startedAtMs)}.`);
    const quarantine = JSON.parse(readFileSync(join(ROOT, 'test/quarantine.json'), 'utf8'));
    outcome = summarize(run, { files, quarantine });
    sayFailed(run, outcome.quarantined);
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

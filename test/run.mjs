/**
 * What `npm test [-- arguments of Jest]` runs: finds (or installs) and starts one Redis and one PostgreSQL for the whole
 * run, runs Jest, stops them, and ends with one line: `N passed, N failed` (`, N skipped` where some were).
 * In CI what failed is tried once more, and that is said; and what there is no time left for is left out, and named.
 * `--unit`, `--integration` or `--load` as first argument runs a part: what stands beside the source, without servers; what needs the
 * built program and servers; what puts the machine under load.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const JEST = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];
/**
 * Test files that put the machine under load, or measure how long something takes, run one after the other when the rest is done:
 * beside each other they would measure each other.
 */
const LOAD = '\\.load\\.spec\\.ts$';
/** What such a file takes on two cores: for the estimate while the others run. */
const LOAD_FILE_MS = 25_000;
/**
 * CI ends a run that takes too long, and then nobody knows what failed: files that have no time left are named and not run there.
 * The last minutes are for those that run one after the other.
 */
const CI_BUDGET_MS = 34 * 60_000;
const CI_TOGETHER_MS = 29 * 60_000;
const DAY_MS = 86_400_000;
const PROGRESS = '<rootDir>/test/support/progress-reporter.mjs';
/** How long Jest may take to end once its results are written; what lasts longer is something that a test left open. */
const EXIT_GRACE_MS = 15_000;

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
const { countReasons, filesWithoutTime } = await import('./support/skipped.ts');
const { inWords } = await import('./support/progress.ts');
const { filesInTime, filesToTryAgain, summarise } = await import('./support/run-summary.ts');

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
  const resultFile = join(mkdtempSync(join(folder, 'results-')), 'results.json');
  const report = ['--json', `--outputFile=${resultFile}`, '--reporters=default', `--reporters=${PROGRESS}`];
  // With --json Jest writes its readable report to stderr; stdout would only name the file.
  const jest = spawn(process.execPath, [...JEST, ...report, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  let leaked = false;
  let writtenAt;
  const watch = setInterval(() => {
    if (existsSync(resultFile)) writtenAt ??= performance.now();
    if (writtenAt === undefined || performance.now() - writtenAt < EXIT_GRACE_MS) return;
    leaked = true;
    jest.kill('SIGKILL');
  }, 500);
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest.kill(signal));
  const [code] = await once(jest, 'exit');
  clearInterval(watch);
  if (leaked) console.error('Jest did not end: a test left a socket, timer or process open (--detectOpenHandles).');
  return { code, leaked, results: existsSync(resultFile) ? JSON.parse(readFileSync(resultFile, 'utf8')) : null };
}

/** The parts that have a name, as arguments of Jest. Unit specs wait more than they work: twice as many workers as cores. */
const PARTS = {
  '--unit': [`--maxWorkers=${2 * availableParallelism()}`, `--testPathPatterns=${ROOT}src/`],
  '--integration': [`--testPathPatterns=${ROOT}test/`, `--testPathIgnorePatterns=${LOAD}`],
  '--load': ['--runInBand', `--testPathPatterns=${LOAD}`],
};

/** In CI: no test file is begun that long after the start of this program (`test/support/in-time-runner.mjs`). */
function deadlineAt(budgetMs) {
  if (process.env.CI === undefined) return {};
  return { TRAILGATE_TEST_DEADLINE_MS: String(Math.round(performance.timeOrigin + budgetMs)) };
}

/** Both passes, or one where the arguments say what to run. */
async function runAll([first, ...others], environment, folder) {
  if (first !== undefined) {
    const args = [...(PARTS[first] ?? [first]), ...others];
    const saysWorkers = args.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg));
    return [await runJest(saysWorkers ? args : ['--maxWorkers=2', ...args], environment, folder)];
  }
  const files = globSync('{src,test}/**/*.spec.ts', { cwd: ROOT });
  const later = files.filter((file) => new RegExp(LOAD).test(file));
  console.error(`${files.length - later.length} test files two at a time, then ${later.length} one after the other.`);
  const together = await runJest(
    ['--maxWorkers=2', `--testPathIgnorePatterns=${LOAD}`],
    { ...environment, ...deadlineAt(CI_TOGETHER_MS), TRAILGATE_TEST_LATER_MS: String(later.length * LOAD_FILE_MS) },
    folder,
  );
  const leftMs = process.env.CI === undefined ? Infinity : CI_BUDGET_MS - performance.now();
  const { run, leftOut } = filesInTime(later, { leftMs, eachMs: LOAD_FILE_MS, day: Math.floor(Date.now() / DAY_MS) });
  for (const file of leftOut) console.error(`No time left for ${file}.`);
  if (run.length === 0) return [together];
  const alone = ['--runInBand', '--runTestsByPath', ...run];
  return [together, await runJest(alone, { ...environment, ...deadlineAt(CI_BUDGET_MS) }, folder)];
}

/** What was skipped, and why: a line for each reason. Tests that Jest's own arguments leave out have none. */
function saySkipped(runs) {
  const tests = runs.flatMap(({ results }) => results?.testResults ?? []).flatMap((file) => file.assertionResults);
  for (const [reason, count] of countReasons(tests)) console.error(`Skipped ${count}: ${reason}.`);
  for (const file of filesWithoutTime(tests)) console.error(`No time left for ${file}.`);
}

/**
 * In CI a few files that failed are tried once more, alone, when the rest is done: what rests on real time can fail on a busy machine.
 * The last line says how many tests needed that, and their names stand above it.
 */
async function tryAgain(runs, environment, folder) {
  const files = process.env.CI === undefined ? [] : filesToTryAgain(runs);
  if (files.length === 0) return undefined;
  console.error(`Once more, alone: ${files.map((file) => relative(ROOT, file)).join(', ')}`);
  return runJest(['--runInBand', '--runTestsByPath', ...files], environment, folder);
}

// Everything that the run writes goes into one folder; PostgreSQL's user must be able to walk through it.
const folder = mkdtempSync(join(tmpdir(), 'trailgate-test-'));
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;
let outcome = { line: '0 passed, 1 failed', exitCode: 1 };
try {
  const args = process.argv.slice(2);
  const needsServers = args[0] !== '--unit';
  if (needsServers) installWhatIsMissing();
  const { servers, environment } = needsServers ? await startServers() : { servers: [], environment: {} };
  try {
    const startedAtMs = performance.now();
    const runs = await runAll(args, environment, folder);
    const again = await tryAgain(runs, environment, folder);
    saySkipped(runs);
    console.error(`It took ${inWords(performance.now() - startedAtMs)}.`);
    outcome = summarise(runs, again);
    for (const name of outcome.secondTries) console.error(`At the second try: ${relative(ROOT, name)}`);
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

/**
 * Measures the cost of a flush of usage and month counts. All 1,000 keys of 100 accounts have been used since the
 * previous flush, and some requests are still in flight. For SQLite, measures the CPU time of its thread and of the
 * main thread.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KEY_MONTH, median, openParts, perWindow, quotaPieces, subjectsOf } from './quota-parts.mjs';
import { temporaryFolder } from './processes.mjs';

const ACCOUNTS = 100;
const KEYS_EACH = 10;
const REQUESTS_OF_A_KEY = 50;
/** Approximate number of requests that are in flight during a flush. */
const IN_FLIGHT = 64;
const FLUSHES = 60;
/** Number of flushes until the just-in-time compiler has compiled the code. */
const WARM_UP_FLUSHES = 10;

/**
 * Measures flushes.
 * @param databaseUrl PostgreSQL to measure in addition to SQLite, or undefined
 * @returns rows of the table
 */
export async function measureFlush(databaseUrl) {
  console.error('flush of usage and month counts');
  const rows = await measureSqlite();
  return databaseUrl === undefined ? rows : [...rows, await measurePostgres(databaseUrl)];
}

/** Measures the elapsed time of a flush to PostgreSQL, which includes the time that PostgreSQL needs. */
async function measurePostgres(databaseUrl) {
  const { database, parts } = await openParts(temporaryFolder(), databaseUrl);
  const pieces = quotaPieces(parts);
  const subjects = subjectsOf(ACCOUNTS, KEYS_EACH);
  const times = [];
  let open = [];
  for (let flush = 0; flush < WARM_UP_FLUSHES + FLUSHES; flush++) {
    open = recordRequests(pieces, subjects, open);
    const startedMs = performance.now();
    await pieces.flush.flush();
    if (flush >= WARM_UP_FLUSHES) times.push((performance.now() - startedMs) * 1_000);
  }
  await database.close();
  return { what: `${titleOf(subjects)}: PostgreSQL, whole, lowest (median)`, figure: milliseconds(times) };
}

const titleOf = (subjects) => `flush of ${subjects.length.toLocaleString('en')} keys of ${ACCOUNTS} accounts`;

async function measureSqlite() {
  const { database, parts } = await openParts(temporaryFolder());
  const pieces = quotaPieces(parts);
  const subjects = subjectsOf(ACCOUNTS, KEYS_EACH);
  const worker = threadNamed('sqlite');
  const onMain = [];
  const onWorker = [];
  let open = [];
  for (let flush = 0; flush < WARM_UP_FLUSHES + FLUSHES; flush++) {
    open = recordRequests(pieces, subjects, open);
    const workerBefore = cpuMicroseconds(worker);
    const mainBefore = process.threadCpuUsage();
    await pieces.flush.flush();
    const { user, system } = process.threadCpuUsage(mainBefore);
    if (flush < WARM_UP_FLUSHES) continue;
    onMain.push(user + system);
    onWorker.push(cpuMicroseconds(worker) - workerBefore);
  }
  await checkWritten(database, (WARM_UP_FLUSHES + FLUSHES) * REQUESTS_OF_A_KEY * subjects.length);
  await database.close();
  const what = titleOf(subjects);
  return [
    { what: `${what}: SQLite's thread, lowest (median)`, figure: milliseconds(onWorker) },
    { what: `${what}: main thread, lowest (median)`, figure: milliseconds(onMain) },
  ];
}

/**
 * Records requests of all keys as the request path does.
 * @param open requests that were left in flight before; they end now
 * @returns the requests that remain in flight
 */
function recordRequests({ ledger, recorder, operation, clock }, subjects, open) {
  for (const request of open) recorder.recordEnd(request, 0);
  const left = [];
  for (const [index, subject] of subjects.entries()) {
    const nowMs = clock.now();
    const period = subject.calendar.at(nowMs);
    const ofKey = (subject.lastSeen?.[KEY_MONTH] ?? 0) + REQUESTS_OF_A_KEY;
    const used = perWindow(({ of, kind }) => (kind === 'sliding' ? 0 : of === 'key' ? ofKey : ofKey * KEYS_EACH));
    subject.recordSeen(used, nowMs, period);
    const decision = { admitted: true, source: 'store', cost: 1, nowMs, period, used };
    for (let made = 0; made < REQUESTS_OF_A_KEY; made++) {
      const request = { usage: undefined, usageCost: 0, completion: 8, usageRefunded: false };
      recorder.recordDecision(request, subject, operation, decision);
      if (made === 0 && index % Math.floor(subjects.length / IN_FLIGHT) === 0) left.push(request);
      else recorder.recordEnd(request, 0);
    }
    ledger.markChanged(subject, decision);
  }
  return left;
}

async function checkWritten({ db }, requests) {
  let counted = 0;
  for (const table of ['usage_daily', 'usage_in_flight']) {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.sum('requests').as('sum'))
      .executeTakeFirstOrThrow();
    counted += Number(row.sum);
  }
  if (counted !== requests) throw new Error(`the flushes wrote ${counted} of ${requests} requests`);
}

function threadNamed(name) {
  const isNamed = (thread) => readFileSync(path.join(thread, 'comm'), 'utf8').trim() === name;
  const threads = readdirSync('/proc/self/task').map((id) => path.join('/proc/self/task', id));
  const thread = threads.find(isNamed);
  if (thread === undefined) throw new Error(`no thread is named ${name}`);
  return thread;
}

function cpuMicroseconds(thread) {
  return Number(readFileSync(path.join(thread, 'schedstat'), 'utf8').split(' ')[0]) / 1_000;
}

function milliseconds(microseconds) {
  return `${(Math.min(...microseconds) / 1_000).toFixed(1)} (${(median(microseconds) / 1_000).toFixed(1)}) ms`;
}

/** Shared parts of the quota benchmarks: the modules of `dist/`, subjects, a database and statistics. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const dist = (file) => import(path.resolve(import.meta.dirname, '../../dist', file));

export const { KEY_MONTH, perWindow } = await dist('platform/quotas/windows.js');
const { openDatabase } = await dist('stores/database/connect.js');
const { systemClock } = await dist('platform/clock.js');
const { calendarOf } = await dist('quota/model/month-period.js');
const { MonthLedger } = await dist('quota/usage/month-ledger.js');
const { QuotaSubject, QuotaTerms } = await dist('quota/model/subject.js');
const { UsageFlush } = await dist('quota/usage/usage-flush.js');
const { UsageRecorder } = await dist('quota/usage/usage-recorder.js');
const { UsageTable } = await dist('quota/usage/usage-table.js');
export const { openProcessQuotas, openRedisQuotas } = await dist('quota/open-quotas.js');
export const { accountCounterKey, apiKeyCounterKey } = await dist('stores/redis/keys.js');

/** Limits that are never reached, so that every decision admits. */
const LIMITS = perWindow(({ kind }) => (kind === 'sliding' ? 1e9 : 1e12));
const TERMS = new QuotaTerms(LIMITS, 'closed', calendarOf('Europe/Vienna', 1));

const silent = () => {};
const LOG = { debug: silent, info: silent, warn: silent, error: silent };

/** Maximum number of attempts of a decision that misses its deadline on a busy machine. */
const ATTEMPTS = 50;
const PAUSE_MS = 100;

/** Counts decisions that missed their deadline. A high count shows that other work used the machine. */
export const late = { decisions: 0 };

/**
 * Opens a database. The caller must close `database`.
 * @param dataDir folder of the SQLite database
 * @param databaseUrl PostgreSQL to use instead
 * @returns the database, and the `parts` for `openProcessQuotas` and `openRedisQuotas`
 */
export async function openParts(dataDir, databaseUrl) {
  const database = await openDatabase({ dataDir, ...(databaseUrl && { databaseUrl }) });
  return { database, parts: { db: database.db, kind: database.kind, clock: systemClock, log: LOG } };
}

/** Creates the objects that write usage and month counts to the database if counters are in Redis. */
export function quotaPieces({ db, kind, clock, log }) {
  const isShared = true;
  const ledger = new MonthLedger(db, clock);
  const recorder = new UsageRecorder(clock);
  const flush = new UsageFlush(new UsageTable(db, kind, isShared), ledger, recorder, clock, log, { isShared });
  return { ledger, recorder, flush, clock, operation: { id: 'list_customers', index: 0 } };
}

/** Returns the quota subject of an account's key, with a limit for every window. */
export function subjectOf(account, index = 0) {
  return new QuotaSubject(
    `acc_${String(account).padStart(25, '0')}`,
    `key_${String(account).padStart(20, '0')}${String(index).padStart(5, '0')}`,
    TERMS,
  );
}

export function subjectsOf(accounts, keysEach = 1) {
  const subjects = [];
  for (let account = 0; account < accounts; account++) {
    for (let index = 0; index < keysEach; index++) subjects.push(subjectOf(account, index));
  }
  return subjects;
}

/** Makes one decision. Repeats it if the store is unavailable. Rejects if the decision does not admit the request. */
export async function admit(limiter, subject) {
  for (let attempt = 1; ; attempt++) {
    try {
      const decision = await limiter.decide(subject, 1);
      if (decision.admitted && decision.source === 'store') return;
    } catch (error) {
      if (error.code !== 'quota_unavailable' || attempt === ATTEMPTS) throw error;
      late.decisions += 1;
      await sleep(PAUSE_MS);
      continue;
    }
    throw new Error('a decision of the benchmark did not admit its request');
  }
}

export async function admitAll(limiter, subjects, atOnce = 512) {
  for (let at = 0; at < subjects.length; at += atOnce) {
    await Promise.all(subjects.slice(at, at + atOnce).map((subject) => admit(limiter, subject)));
  }
}

export const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/** Returns the values in a pseudorandom order, which is the same in every run. It defeats prefetching of caches. */
export function shuffled(values) {
  const mixed = [...values];
  let seed = 12_345;
  for (let last = mixed.length - 1; last > 0; last--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const other = seed % (last + 1);
    [mixed[last], mixed[other]] = [mixed[other], mixed[last]];
  }
  return mixed;
}

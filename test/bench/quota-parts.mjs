/** What both halves of the quota benchmark need: subjects, a database, figures. */
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

/** Never reached: what is measured is the decision, not the refusal. */
const LIMITS = perWindow(({ kind }) => (kind === 'sliding' ? 1e9 : 1e12));
const TERMS = new QuotaTerms(LIMITS, 'closed', calendarOf('Europe/Vienna', 1));

const silent = () => {};
const LOG = { debug: silent, info: silent, warn: silent, error: silent };

/** How often a decision that a busy machine made too late is asked again. */
const ATTEMPTS = 50;
const PAUSE_MS = 100;

/** Decisions that were not answered within the deadline: the machine was busy with something else. */
export const late = { decisions: 0 };

/** An embedded database in a folder, as `parts` of `openProcessQuotas` and `openRedisQuotas`. */
/** @param databaseUrl PostgreSQL; without it SQLite in `dataDir` */
export async function openParts(dataDir, databaseUrl) {
  const database = await openDatabase({ dataDir, ...(databaseUrl && { databaseUrl }) });
  return { database, parts: { db: database.db, kind: database.kind, clock: systemClock, log: LOG } };
}

/** What brings usage and month counts to the database, as it stands beside counters in Redis. */
export function quotaPieces({ db, kind, clock, log }) {
  const isShared = true;
  const ledger = new MonthLedger(db, clock);
  const recorder = new UsageRecorder(clock);
  const flush = new UsageFlush(new UsageTable(db, kind, isShared), ledger, recorder, clock, log, { isShared });
  return { ledger, recorder, flush, clock, operation: { id: 'list_customers', index: 0 } };
}

/** The subject of the key at `index` of an account. A plan with all four windows. */
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

/** One decision; a refusal would be a mistake of the benchmark. */
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
    throw new Error('a decision of the benchmark was not admitted');
  }
}

export async function admitAll(limiter, subjects, atOnce = 512) {
  for (let at = 0; at < subjects.length; at += atOnce) {
    await Promise.all(subjects.slice(at, at + atOnce).map((subject) => admit(limiter, subject)));
  }
}

export const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/** In an order that no cache foresees, the same in every run. */
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

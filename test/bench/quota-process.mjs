/** The decision where counters are in the process: its time with one key and with very many, and the memory that a key takes. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { temporaryFolder } from './processes.mjs';
import { admitAll, median, openParts, openProcessQuotas, shuffled, subjectsOf } from './quota-parts.mjs';

const ROUNDS = 21;
const DECISIONS_PER_ROUND = 200_000;
/** Every decision in the process is there at once. */
const NOBODY = undefined;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/** @returns rows of the table. */
export async function measureProcess(keys) {
  const { database, parts } = await openParts(temporaryFolder());
  const rows = [];
  let bytes;
  for (const count of [1, 1_000, keys]) {
    console.error(`in the process: ${count} keys`);
    const quotas = openProcessQuotas(parts);
    const subjects = subjectsOf(count);
    flatten(subjects);
    const before = usedBytes();
    await admitAll(quotas.limiter, subjects);
    // The counts that wait for the database are not the counters' memory.
    await quotas.stop();
    bytes = (usedBytes() - before) / count;
    const name = `${count.toLocaleString('en')} ${count === 1 ? 'key' : 'keys, each of its own account'}`;
    rows.push({
      what: `decision in the process, ${name}`,
      figure: `${nanoseconds(quotas.limiter, subjects)} ns`,
      aim: '< 1,000 ns',
    });
    await quotas.stop();
  }
  await database.close();
  rows.push({
    what: 'memory of the process for the counters of an account and its key',
    figure: `${Math.round(bytes)} B`,
    aim: '< 700 B',
  });
  return rows;
}

/** Median CPU time of a decision, over the keys in no order: what else the machine does is not in it. */
function nanoseconds(limiter, subjects) {
  const order = shuffled(subjects);
  const rounds = [];
  let at = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.threadCpuUsage();
    for (let decision = 0; decision < DECISIONS_PER_ROUND; decision++) {
      const verdict = limiter.decideFor(NOBODY, order[at], 1);
      if (verdict?.admitted !== true) throw new Error('a decision in the process was no decision at once');
      at = at + 1 === order.length ? 0 : at + 1;
    }
    const { user, system } = process.threadCpuUsage(before);
    rounds.push(((user + system) * 1_000) / DECISIONS_PER_ROUND);
  }
  return Math.round(median(rounds));
}

/** Strings that were put together take another form, and another size, when they are first read: here, not while memory is measured. */
function flatten(subjects) {
  const reads = (text) => /^$/.test(text);
  for (const { accountId, keyId, accountCounterKey, keyCounterKey } of subjects) {
    [accountId, keyId, accountCounterKey, keyCounterKey].some(reads);
  }
}

function usedBytes() {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

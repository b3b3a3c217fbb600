/** Measures decisions with counters in the process: their time with few and many keys, and the memory per key. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { temporaryFolder } from './processes.mjs';
import { admitAll, median, openParts, openProcessQuotas, shuffled, subjectsOf } from './quota-parts.mjs';

const ROUNDS = 21;
const DECISIONS_PER_ROUND = 200_000;
/** Receiver of later decisions. There is none, because decisions in the process are synchronous. */
const NO_RECEIVER = undefined;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

/**
 * Measures decisions in the process.
 * @param keys number of keys in the row with many keys
 * @returns rows of the table
 */
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
    // Flushes the counts for the database, so that they are not measured as memory of the counters.
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

/**
 * Returns the median CPU time of a decision in ns, over the keys in random order. Excludes other work of the machine.
 */
function nanoseconds(limiter, subjects) {
  const order = shuffled(subjects);
  const rounds = [];
  let at = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.threadCpuUsage();
    for (let decision = 0; decision < DECISIONS_PER_ROUND; decision++) {
      const verdict = limiter.decideFor(NO_RECEIVER, order[at], 1);
      if (verdict?.admitted !== true) throw new Error('a decision in the process did not admit its request at once');
      at = at + 1 === order.length ? 0 : at + 1;
    }
    const { user, system } = process.threadCpuUsage(before);
    rounds.push(((user + system) * 1_000) / DECISIONS_PER_ROUND);
  }
  return Math.round(median(rounds));
}

/**
 * Reads all strings of the subjects. V8 flattens a concatenated string when it is first read, which changes its size.
 * That must not happen while memory is measured.
 */
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

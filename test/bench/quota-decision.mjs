/**
 * `npm run bench:quotas`: measures the cost of a quota decision, with counters in this process and in Redis: time,
 * calls and memory, with few and many keys. Also measures flushes of usage to SQLite, and to the PostgreSQL at
 * `DATABASE_URL`, which must be empty. Calls the same code of `dist/` as the gateway. Prints one table.
 */
import { commit, machineFacts } from './machine.mjs';
import { measureFlush } from './quota-flush.mjs';
import { measureProcess } from './quota-process.mjs';
import { late } from './quota-parts.mjs';
import { measureRedis } from './quota-redis.mjs';
import { figuresTable } from './report.mjs';

export const options = {
  accounts: {
    takes: 'N',
    about: 'accounts in Redis, in the row with many accounts',
    normal: 1_000_000,
    least: 10_000,
    most: 5_000_000,
  },
  keys: {
    takes: 'N',
    about: 'keys in the process, in the row with many keys',
    normal: 100_000,
    least: 2_000,
    most: 1_000_000,
  },
};

function caption({ cpu, cores, memoryGigabytes, kernel, versions }) {
  return `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}, Redis ${versions.redis}.`;
}

/**
 * Measures decisions in the process and in Redis, and flushes.
 * @returns the table as Markdown
 */
export async function measure({ keys, accounts }) {
  const head = caption(machineFacts());
  const rows = [
    ...(await measureProcess(keys)),
    ...(await measureFlush(process.env.DATABASE_URL)),
    ...(await measureRedis(accounts)),
  ];
  const warning = `\n\n> ${late.decisions} decisions were late and repeated, because other work used the machine. Do not trust the times.`;
  return `${head}\n\n${figuresTable(rows)}${late.decisions === 0 ? '' : warning}`;
}

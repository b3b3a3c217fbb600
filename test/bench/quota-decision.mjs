/**
 * `npm run bench:quotas`: what one quota decision costs, in this process and in Redis, in time, calls and memory, with few and with
 * very many keys. With `DATABASE_URL`, also a flush to that PostgreSQL, which must be empty. Measures dist/ through the same entry as the gateway (`Limiter.decide`) and prints one table.
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
    about: 'accounts in Redis where they are many',
    normal: 1_000_000,
    least: 10_000,
    most: 5_000_000,
  },
  keys: {
    takes: 'N',
    about: 'keys in the process where they are many',
    normal: 100_000,
    least: 2_000,
    most: 1_000_000,
  },
};

function caption({ cpu, cores, memoryGigabytes, kernel, versions }) {
  return `Commit ${commit()}; ${cpu}, ${cores} cores, ${memoryGigabytes} GB, Linux ${kernel}; Node ${versions.node}, Redis ${versions.redis}.`;
}

/** Measures decisions in the process and in Redis. @returns their table */
export async function measure({ keys, accounts }) {
  const head = caption(machineFacts());
  const rows = [
    ...(await measureProcess(keys)),
    ...(await measureFlush(process.env.DATABASE_URL)),
    ...(await measureRedis(accounts)),
  ];
  const warning = `\n\n> ${late.decisions} decisions were late and asked again: other work was in the way; do not trust the times.`;
  return `${head}\n\n${figuresTable(rows)}${late.decisions === 0 ? '' : warning}`;
}

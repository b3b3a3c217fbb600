/** Load 2: the cost of requests with few and many active keys, and the memory of these keys. */
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMegabytes } from '../accounting.mjs';
import { SCOPE } from '../keys.mjs';
import { runLoad } from '../load.mjs';
import { aimLine, COLUMNS, fixed, notesOf, tableOf } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const COUNTS = [1, 100, 1_000, 10_000, 100_000];
const CHECK_COUNTS = [1, 1_000];
const FILL_SECONDS = 5;
/** Number of connections for the first use of the keys. It is small, because the first use of a key is expensive. */
const FILL_CONNECTIONS = 16;
/** Time until the program has written everything that the first use of the keys has left to write. */
const SETTLE_MS = 12_000;
const FILL_ATTEMPTS = 60;
/** Time until an idle process has released the memory that the load needed (decision 0028). */
const QUIET_MS = 60_000;
const AIM_SPREAD = 0.1;
const AIM_MEGABYTES = 200;

export const title = 'Active keys';

export async function measure(settings) {
  const rows = [];
  for (const count of settings.check ? CHECK_COUNTS : COUNTS) {
    const name = `keys-${count}`;
    console.error(`${name}: starting`);
    const groups = { plain: { count, plan: 'bench', scope: SCOPE } };
    // A single account may use all connections to the backend.
    const gateway = await openScene({ name, groups, service: { accountShare: 1 } });
    if (!settings.check) await useAll(gateway, count);
    const held = count.toLocaleString('en');
    rows.push({ id: name, title: held, gateway, count });
  }
  const summaries = await measureRows(rows, settings);
  if (settings.check) return { rows: [] };
  if (!settings.quick) await sleep(QUIET_MS);
  return {
    rows: summaries.map((row, index) => {
      const { count, gateway } = rows[index];
      return { ...row, count, quietMegabytes: settings.quick ? undefined : residentMegabytes(gateway.program.pid) };
    }),
  };
}

/** Sends requests until every key has been used, so that all keys are cached and have counters in Redis. */
async function useAll(gateway, count) {
  for (let attempt = 0; (gateway.sent ?? 0) < count; attempt++) {
    if (attempt === FILL_ATTEMPTS) throw new Error(`keys-${count}: the first use of all keys took too long`);
    await runLoad(gateway, { seconds: FILL_SECONDS, connections: FILL_CONNECTIONS, verify: true });
    await gateway.redisIsBack();
  }
  await sleep(SETTLE_MS);
}

export function table({ rows }) {
  const costs = rows.map((row) => row.lowestCpu);
  const spread = Math.max(...costs) / Math.min(...costs) - 1;
  const [one, most] = [rows[0], rows.at(-1)];
  const memory = (row) => `${fixed(row.quietMegabytes, 0)} MB (under load ${fixed(row.medians.residentMegabytes, 0)})`;
  return [
    tableOf('active keys', rows, {
      ...COLUMNS,
      'quiet: memory MB': (row) => fixed(row.quietMegabytes, 0),
      'against one key': (row) => fixed(row.lowestCpu / one.lowestCpu, 2),
    }),
    [
      aimLine(
        'cost per request within 10 % from 1 to 100,000 keys',
        `${fixed(spread * 100, 0)} %`,
        spread <= AIM_SPREAD,
      ),
      aimLine(
        `under ${AIM_MEGABYTES} MB resident with ${most.title} cached keys, a minute after the load`,
        `${memory(most)}, with one key ${memory(one)}`,
        most.quietMegabytes < AIM_MEGABYTES,
      ),
    ].join('\n'),
    ...notesOf(rows),
  ].join('\n\n');
}

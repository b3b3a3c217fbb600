/**
 * Load 6: two workers compared with one, with and without Redis. The gain depends on the cores that the load leaves to
 * the gateway, so the table includes the CPU time of all programs.
 */
import { cpus } from 'node:os';
import { pin } from '../processes.mjs';
import { aimLine, COLUMNS, fixed, notesOf, tableOf, whole } from './report.mjs';
import { measureRows } from './rounds.mjs';
import { openScene } from './scene.mjs';

const AIM_GAIN = 1.8;
const WORKERS = 2;
/** Minimum number of cores at which gateway and load run on different cores. With fewer cores they share all. */
const MIN_CORES_TO_SEPARATE = 4;
/** Column that the table omits, because the gateways do not have exactly one core to themselves. */
const GATEWAY_USE = "use of the gateway's core";

export const title = 'Two workers against one';

export async function measure(settings) {
  const all = `0-${cpus().length - 1}`;
  const hasSeparateCores = cpus().length >= MIN_CORES_TO_SEPARATE;
  const cpuSets = hasSeparateCores
    ? { one: '0', two: '0,1', load: `2-${cpus().length - 1}` }
    : { one: all, two: all, load: all };
  const rows = [];
  if (!hasSeparateCores) {
    const alone = await openScene({ name: 'workers-alone' });
    rows.push({ id: 'one alone', title: 'one worker on a core of its own', gateway: alone });
  }
  const shared = hasSeparateCores ? 'the load elsewhere' : 'both cores shared with load, backend and Redis';
  for (const [id, title, count, core, counters] of [
    ['one', 'one worker', 1, cpuSets.one, 'redis'],
    ['two', 'two workers', WORKERS, cpuSets.two, 'redis'],
    ['one own', 'one worker without Redis', 1, cpuSets.one, 'own'],
    ['two own', 'two workers without Redis (separate counting process)', WORKERS, cpuSets.two, 'own'],
  ]) {
    const name = `workers-${id.replace(' ', '-')}`;
    const gateway = await openScene({ name, args: ['--workers', String(count)], core, counters });
    if (gateway.redis !== undefined) pin(gateway.redis.program, cpuSets.load);
    pin(gateway.backend.program, cpuSets.load);
    rows.push({ id, title: `${title}, ${shared}`, gateway, core: cpuSets.load });
  }
  return { hasSeparateCores, cores: cpus().length, rows: await measureRows(rows, settings) };
}

export function table({ hasSeparateCores, cores, rows }) {
  const one = rows.find(({ id }) => id === 'one');
  const two = rows.find(({ id }) => id === 'two');
  const gain = two.medians.requestsPerSecond / one.medians.requestsPerSecond;
  const costs = two.lowestCpu / one.lowestCpu;
  const { [GATEWAY_USE]: _, ...columns } = COLUMNS;
  const measured = `${fixed(gain, 2)} times as many, each for ${fixed(costs, 2)} times the gateway's CPU`;
  const possible = gainPossible(one, cores);
  return [
    tableOf('workers', rows, {
      ...columns,
      'with load, backend, Redis: CPU µs/request': (row) => fixed(row.medians.everythingMicroseconds),
    }),
    hasSeparateCores || possible >= AIM_GAIN
      ? aimLine(`two workers answer at least ${AIM_GAIN} times as many requests as one`, measured, gain >= AIM_GAIN)
      : notMeasurableLine(one, cores, possible, measured),
    ...notesOf(rows),
  ].join('\n\n');
}

/** Returns the maximum gain on these cores, if a request of two workers takes as much CPU time as a request of one. */
function gainPossible(one, cores) {
  const all = cores / one.medians.everythingMicroseconds;
  const alone = 1 / one.medians.cpuMicroseconds;
  return Math.min(WORKERS * alone, all) / Math.min(alone, all);
}

function notMeasurableLine(one, cores, possible, measured) {
  const { everythingMicroseconds: everything, cpuMicroseconds: own } = one.medians;
  return (
    `- That two workers answer ${AIM_GAIN} times as many requests as one cannot be shown here: the load needs the cores too. A request takes ` +
    `${fixed(everything)} µs in all programs together, ${fixed(own)} µs of them in the gateway, so these ${cores} cores can answer at most ` +
    `${whole((cores / everything) * 1e6)} a second, ${fixed(possible, 2)} times what one worker can. Measured: ${measured}.`
  );
}

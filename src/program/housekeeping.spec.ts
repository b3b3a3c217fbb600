/** Tasks of the worker role are counted and logged by name, and continue after a failure. */
import { expect, it } from '@jest/globals';
import { eventually } from '../../test/support/processes.js';
import { METRICS } from '../platform/metrics.js';
import { startHousekeeping, type Task } from './housekeeping.js';

const runs = (name: Task['name'], outcome: 'done' | 'failed') => METRICS.housekeepingRuns.series(name, outcome).value;

it('a failed task is logged and counted by name, and runs again at its next time', async () => {
  const warnings: object[] = [];
  let isAway = true;
  let others = 0;
  const away = {
    name: 'events',
    everyMs: 5,
    run: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve()),
  } as const;
  const other = { name: 'usage', everyMs: 5, run: async () => (others += 1) } as const;
  const before = { done: runs('events', 'done'), failed: runs('events', 'failed') };
  const stop = startHousekeeping([away, other], { warn: (fields: object) => void warnings.push(fields) });
  await eventually('it is tried again', () => runs('events', 'failed') >= before.failed + 2);
  expect(warnings[0]).toMatchObject({ event: 'housekeeping_failed', task: 'events', retry_in_s: 0.005 });
  expect(runs('events', 'done')).toBe(before.done);
  expect(others).toBeGreaterThan(0);
  isAway = false;
  await eventually('it is done', () => runs('events', 'done') > before.done);
  await stop();
});

it('a task that is running at shutdown is informed, awaited and not logged as failed', async () => {
  const warnings: object[] = [];
  let wasTold = false;
  const run = async (isStopped: () => boolean): Promise<void> => {
    await eventually('the end', isStopped);
    wasTold = true;
    throw new Error('the database is closed');
  };
  const failed = runs('deliveries', 'failed');
  const stop = startHousekeeping([{ name: 'deliveries', everyMs: 1_000, run }], {
    warn: (fields: object) => void warnings.push(fields),
  });
  await stop();
  expect(wasTold).toBe(true);
  expect(warnings).toEqual([]);
  expect(runs('deliveries', 'failed')).toBe(failed);
});

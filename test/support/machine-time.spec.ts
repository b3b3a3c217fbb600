import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { quietMsSince } from './machine-time.js';
import { sleep, spawnOwned, type OwnedProcess } from './processes.js';

const BURNS = ['-e', 'for (;;);'];
const hasPressure = existsSync('/proc/pressure/cpu');
const burners: OwnedProcess[] = [];

afterEach(() => Promise.all(burners.splice(0).map((burner) => burner.end('SIGKILL'))));

it('time of a machine is never more than the time that went by', async () => {
  const startedMs = performance.now();
  await sleep(300);
  const quietMs = quietMsSince(startedMs);
  expect(quietMs).toBeGreaterThanOrEqual(0);
  expect(quietMs).toBeLessThanOrEqual(performance.now() - startedMs);
});

(hasPressure ? describe : describe.skip)('where the system tells how long others waited', () => {
  it('time in which others take every processor is left out', async () => {
    for (let each = 0; each < 3 * availableParallelism(); each++) burners.push(spawnOwned(process.execPath, BURNS));
    await sleep(500);
    const startedMs = performance.now();
    await sleep(1_000);
    expect(quietMsSince(startedMs)).toBeLessThan(500);
  });
});

/** The load that ends a quiet time meets no collection of the old generation at once; it rests on an option of V8 (decision 0028). */
import { expect, it } from '@jest/globals';
import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { leaveRoomToGrow, V8 } from '../../src/boot/idle-memory.js';

const OBJECTS = 400_000;
/** Of what is held, that many more. */
const GROWTH = 0.6;
const COLLECTIONS = 3;
const SETTLE_MS = 1_500;

const made = (count: number): object[] => Array.from({ length: count }, (_, at) => ({ at, text: `${at}`, more: [at] }));

/** How often the old generation is collected while a process that was quiet begins to hold more. */
async function collectionsWhileGrowing(): Promise<number> {
  const held = [made(OBJECTS)];
  for (let count = 0; count < COLLECTIONS; count++) {
    V8.beginCollection(true);
    await sleep(SETTLE_MS);
  }
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as PerformanceEntry & { detail: { kind: number } }).detail;
      if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections += 1;
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  for (let step = 0; step < 20; step++) {
    held.push(made((OBJECTS * GROWTH) / 20));
    await sleep(50);
  }
  await sleep(SETTLE_MS);
  observer.disconnect();
  expect(held.flat()).toHaveLength(OBJECTS * (1 + GROWTH));
  return collections;
}

it('is left room to grow by V8 when it is asked to, and not otherwise', async () => {
  setFlagsFromString('--heap-growing-percent=0');
  expect(await collectionsWhileGrowing()).toBeGreaterThan(0);
  leaveRoomToGrow();
  expect(await collectionsWhileGrowing()).toBe(0);
});

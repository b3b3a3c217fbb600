/** Memory-saving garbage collections free fragmented pages, thanks to a V8 option (decision 0028). */
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { V8 } from '../../src/program/machine/idle-memory.js';

const OBJECTS = 400_000;
/**
 * One of this many objects is kept, so 40 % of each page. V8 always moves objects of pages that are up to 30 % full.
 */
const KEPT = 2.5;
const COLLECTIONS = 3;
const COLLECTION_TIMEOUT_MS = 10_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the size of the old generation, and the bytes in use there. */
function oldSpace(): { taken: number; used: number } {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
  if (space === undefined) throw new Error('V8 has no old space any more');
  return { taken: space.space_size, used: space.space_used_size };
}

/** Starts a collection, and waits until the heap size is stable. */
async function collect(saveMemory: boolean): Promise<void> {
  const before = performance.now();
  V8.beginCollection(saveMemory);
  let last = oldSpace();
  let same = 0;
  while (same < 10 && performance.now() - before < COLLECTION_TIMEOUT_MS) {
    await sleep(50);
    const now = oldSpace();
    same = now.taken === last.taken ? same + 1 : 0;
    last = now;
  }
}

it('V8 frees fragmented pages in memory-saving collections, and not in others', async () => {
  const objects: (object | null)[] = Array.from({ length: OBJECTS }, (_, at) => ({ at, text: `${at}`, more: [at] }));
  collectGarbage();
  for (let at = 0; at < OBJECTS; at++) if (Math.floor(at % KEPT) !== 0) objects[at] = null;
  const free = (): number => oldSpace().taken - oldSpace().used;
  for (let count = 0; count < COLLECTIONS; count++) await collect(false);
  const scattered = free();
  for (let count = 0; count < COLLECTIONS; count++) await collect(true);
  const together = free();
  expect(objects[0]).toEqual({ at: 0, text: '0', more: [0] });
  expect(scattered).toBeGreaterThan(10_000_000);
  expect(together).toBeLessThan(scattered / 4);
});

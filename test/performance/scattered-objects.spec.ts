/** Pages of which little is in use are given back by the collections that save memory; it rests on an option of V8 (decision 0028). */
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { V8 } from '../../src/program/machine/idle-memory.js';

const OBJECTS = 400_000;
/** Every so-many-th stays: more than the 30 % of a page in use up to which V8 moves objects by itself. */
const KEPT = 2.5;
const COLLECTIONS = 3;
const COLLECTION_TIMEOUT_MS = 10_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that the old generation takes, and that are in use there. */
function oldSpace(): { taken: number; used: number } {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
  if (space === undefined) throw new Error('V8 has no old space any more');
  return { taken: space.space_size, used: space.space_used_size };
}

/** Begins one, and waits until nothing changes any more. */
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

it('is done by V8 when it is asked to save memory, and not otherwise', async () => {
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

/** Load after an idle time causes no immediate major garbage collection, thanks to a V8 option (decision 0028). */
import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Returns the number of major collections while the heap of an idle process grows. */
async function collectionsWhileGrowing(...args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/support/heap-growth.mjs', ...args]);
  const { held, collections } = JSON.parse(stdout) as { held: number; collections: number };
  expect(held).toBeCloseTo(1.6);
  return collections;
}

it('the heap can grow without a major collection with the V8 option, and not without it', async () => {
  const [otherwise, first] = await Promise.all([collectionsWhileGrowing(), collectionsWhileGrowing('room')]);
  expect(otherwise).toBeGreaterThan(0);
  let asked = first;
  // Retries, because V8 considers how fast the heap grows. A process that waits for a core can look slow.
  for (let more = 2; more > 0 && asked > 0; more--) asked = Math.min(asked, await collectionsWhileGrowing('room'));
  expect(asked).toBe(0);
});

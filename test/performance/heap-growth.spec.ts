/** The load that ends a quiet time meets no collection of the old generation at once; it rests on an option of V8 (decision 0028). */
import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';

/** How often the old generation is collected while a process that was quiet begins to hold more. */
function collectionsWhileGrowing(...args: readonly string[]): number {
  const output = execFileSync(process.execPath, ['test/support/heap-growth.mjs', ...args], { encoding: 'utf8' });
  const { held, collections } = JSON.parse(output) as { held: number; collections: number };
  expect(held).toBeCloseTo(1.6);
  return collections;
}

/** The lowest of up to so many tries; none after a 0. */
function lowestOf(tries: number, count: () => number): number {
  let lowest = count();
  for (let more = tries - 1; more > 0 && lowest > 0; more -= 1) lowest = Math.min(lowest, count());
  return lowest;
}

it('is left room to grow by V8 when it is asked to, and not otherwise', () => {
  expect(collectionsWhileGrowing()).toBeGreaterThan(0);
  // V8 decides by how fast the heap grows: a process that has to wait for a core may be taken for a slow one.
  expect(lowestOf(3, () => collectionsWhileGrowing('room'))).toBe(0);
});

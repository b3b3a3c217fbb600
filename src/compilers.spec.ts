import { afterAll, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { compileWithoutMaglev } from './compilers.js';

/** Long enough for TurboFan on a busy machine; it is there after some 20 ms. */
const LONGEST_MS = 5_000;

afterAll(() => setFlagsFromString('--maglev'));

/** Which of the two compilers' code a function has run in, until TurboFan's is there. */
function tiersOfHotFunction(): string[] {
  setFlagsFromString('--allow-natives-syntax');
  return runInThisContext(`(() => {
    function work(count) { let sum = 0; for (let i = 0; i < count; i++) sum += i % 7; return sum; }
    const tiers = new Set();
    const end = performance.now() + ${LONGEST_MS};
    while (!tiers.has('TurboFan') && performance.now() < end) {
      work(100);
      if (%ActiveTierIsMaglev(work)) tiers.add('Maglev');
      if (%ActiveTierIsTurbofan(work)) tiers.add('TurboFan');
    }
    return [...tiers];
  })()`) as string[];
}

it('what is hot is compiled by TurboFan at once', () => {
  expect(tiersOfHotFunction()).toEqual(['Maglev', 'TurboFan']);
  compileWithoutMaglev();
  expect(tiersOfHotFunction()).toEqual(['TurboFan']);
});

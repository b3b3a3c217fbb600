/** Conditions under which an address counts as failing. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Balanced } from '../../../test/support/balanced.js';
import type { UpstreamOutcome } from './upstream-errors.js';

let line: Balanced;
beforeEach(() => {
  line = new Balanced();
  line.make(1);
});
afterEach(() => line.stop());

/** Records failed calls, each some seconds ago. Returns the state after each. */
function statesAfter(failures: readonly (readonly [outcome: UpstreamOutcome, secondsAgo: number])[], status = 0) {
  const endpoint = line.at(0);
  const nowMs = performance.now();
  return failures.map(([outcome, secondsAgo]) => {
    endpoint.recordFailure({ outcome, status, atMs: nowMs - secondsAgo * 1_000 });
    return endpoint.state;
  });
}

it.each(['unreachable', 'connect_timeout'] as const)(
  'three failed calls, one of them %s, make an address failing',
  (outcome) => {
    expect(
      statesAfter([
        ['reset', 1],
        [outcome, 1],
        ['reset', 1],
      ]),
    ).toEqual(['healthy', 'healthy', 'failing']);
  },
);

it.each([
  ['first_byte_timeout', 0],
  ['answered', 504],
] as const)('slow calls (%s) must fail for five seconds', (outcome, status) => {
  const calls = [9, 9, 9, 4.1, 4, 1].map((secondsAgo) => [outcome, secondsAgo] as const);
  expect(statesAfter(calls, status)).toEqual(['healthy', 'healthy', 'healthy', 'healthy', 'failing', 'failing']);
});

it('a successful call restarts the five seconds', () => {
  statesAfter([9, 9, 9].map((secondsAgo) => ['first_byte_timeout', secondsAgo] as const));
  line.at(0).recordSuccess();
  expect(statesAfter([2, 2, 1].map((secondsAgo) => ['first_byte_timeout', secondsAgo] as const)).at(-1)).toBe(
    'healthy',
  );
});

/** What is sent again, as a table; `test/e2e/retries.spec.ts` has it on real connections. */
import { expect, it } from '@jest/globals';
import { mayRetry } from './retry-rules.js';

it.each([
  // Never on a connection: whatever it is.
  ['unreachable', false, false, false, true],
  ['connect_timeout', false, false, false, true],
  // Of ours there are ports to other addresses, but file descriptors to none.
  ['out_of_ports', false, false, false, true],
  ['out_of_resources', false, true, false, false],
  ['out_of_resources', false, true, true, true],
  // On a connection: only what may be repeated.
  ['reset', true, true, false, true],
  ['reset', true, false, false, false],
  ['first_byte_timeout', true, true, false, false],
] as const)(
  '%s, opened %s, repeatable %s, tried an ejected target %s: %s',
  (outcome, opened, repeatable, spare, may) => {
    expect(mayRetry(outcome, opened, repeatable, spare, false)).toBe(may);
  },
);

it.each([
  ['moved', false, true],
  ['answered', true, true],
  ['answered', false, false],
  ['first_byte_timeout', true, true],
  ['client_gone', true, false],
] as const)('ended by us, %s, tried an ejected target %s: %s', (outcome, spare, may) => {
  expect(mayRetry(outcome, true, true, spare, true)).toBe(may);
  expect(mayRetry(outcome, true, false, spare, true)).toBe(false);
});

it.each([
  // Nothing of it has left this process, so that a POST may go elsewhere as well.
  ['moved', true],
  ['client_gone', false],
  ['first_byte_timeout', false],
] as const)('ended by us before it stood on a connection, %s: %s', (outcome, may) => {
  expect(mayRetry(outcome, false, false, false, true)).toBe(may);
});

/** Accepted idempotency keys: a UUID bare and in quotes is the same key. Malformed keys are rejected. */
import { expect, it } from '@jest/globals';
import { idempotencyKeyOf } from './idempotency.js';

it.each([
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['a b', 'a b'],
  ['" a"', ' a'],
  ['x'.repeat(255), 'x'.repeat(255)],
])('reads %j as the key %j', (field, key) => expect(idempotencyKeyOf(field, [])).toBe(key));

it.each(['', '  ', ' a', '""', '"a', 'a"b', 'x'.repeat(256), 'ä', 'a\tb', 'a\u0000'])('%j is refused', (field) => {
  expect(() => idempotencyKeyOf(field, [])).toThrow(expect.objectContaining({ code: 'bad_request' }));
});

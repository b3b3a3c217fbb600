/** Valid and invalid values of `Idempotency-Key`. */
import { expect, it } from '@jest/globals';
import { Problem } from '../platform/problems/errors.js';
import { keyOf } from './key-field.js';

it.each([
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['a', 'a'],
  ['a b, c', 'a b, c'],
  ['"a b, c"', 'a b, c'],
  ['C:\\dir', 'C:\\dir'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['" "', ' '],
  ['x'.repeat(255), 'x'.repeat(255)],
  [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
])('reads %j as the key %j', (field, key) => expect(keyOf(field, [])).toBe(key));

it.each([
  '',
  '""',
  '"',
  '"a',
  'a"',
  'a"b',
  '"a"b',
  '"a";p=1',
  '"a\\b"',
  '"a\\"',
  'a\tb',
  '"a\tb"',
  ' a',
  'a ',
  'schl\u00fcssel',
  '\u007f',
  'x'.repeat(256),
  `"${'x'.repeat(256)}"`,
  'x'.repeat(100_000),
  `"${'\\"'.repeat(50_000)}`,
])('rejects %j', (field) => {
  expect(keyOf(field, [])).toBeInstanceOf(Problem);
  expect(keyOf(field, [])).toMatchObject({ code: 'invalid_idempotency_key', status: 400 });
});

it('rejects repeated headers, which Node joins into one value', () => {
  expect(keyOf('a', ['Host', 'h', 'idempotency-KEY', 'a'])).toBe('a');
  expect(keyOf('a, b', ['Idempotency-Key', 'a', 'Host', 'h', 'idempotency-key', 'b'])).toBeInstanceOf(Problem);
  // A header value that looks like the name does not count.
  expect(keyOf('a', ['X-Name', 'Idempotency-Key', 'Idempotency-Key', 'a'])).toBe('a');
});

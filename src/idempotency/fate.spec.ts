/** What becomes of a claim, by the status of the backend's response. */
import { expect, it } from '@jest/globals';
import { fateOf } from './fate.js';

const KEPT = [200, 201, 202, 204, 301, 303, 400, 402, 404, 405, 406, 409, 410, 412, 413, 415, 418, 422, 426, 431, 451];

it.each([
  ...[...KEPT, 500, 501, 505, 507, 511, 599].map((status) => [status, 'kept'] as const),
  ...[401, 403, 407, 408, 421, 425, 429, 503].map((status) => [status, 'released'] as const),
  ...[502, 504].map((status) => [status, 'unknown'] as const),
])('%d: %s', (status, fate) => expect(fateOf(status, false)).toBe(fate));

it.each([401, 403, 407])('%d of a service that speaks to the caller is its result', (status) => {
  expect(fateOf(status, true)).toBe('kept');
});

/** How a claim ends by the status of the backend response. */
import { expect, it } from '@jest/globals';
import { outcomeOfStatus } from './outcome-of-status.js';

const KEPT = [200, 201, 202, 204, 301, 303, 400, 402, 404, 405, 406, 409, 410, 412, 413, 415, 418, 422, 426, 431, 451];

it.each([
  ...[...KEPT, 500, 501, 505, 507, 511, 599].map((status) => [status, 'kept'] as const),
  ...[401, 403, 407, 408, 421, 425, 429, 503].map((status) => [status, 'released'] as const),
  ...[502, 504].map((status) => [status, 'unknown'] as const),
])('status %d: %s', (status, outcome) => expect(outcomeOfStatus(status, false)).toBe(outcome));

it.each([401, 403, 407])('keeps a %d of a service that authenticates callers', (status) => {
  expect(outcomeOfStatus(status, true)).toBe('kept');
});

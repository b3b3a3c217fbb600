/** Polling pages wait as long as the server asks. */
import { describe, expect, it } from '@jest/globals';
import { pollEvery } from './polling.js';
import { ApiProblem } from './problem.js';

function problem(status: number, retryAfter?: string): ApiProblem {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
  return new ApiProblem(new Response('{}', { status, headers }), {});
}
const state = (error: Error | null, data?: number) => ({ state: { data, error } });

describe('polling of a page', () => {
  it.each([
    ['nothing went wrong', null, 5_000],
    ['the server is away', problem(503, '20'), 5_000],
    ['the server asks for more time', problem(429, '47'), 47_000],
    ['the server asks for less time', problem(429, '2'), 5_000],
    ['the server does not say how much', problem(429), 60_000],
  ])('happens at the interval, or later if the server asks for it: %s', (_name, error, expected) => {
    expect(pollEvery(5_000)(state(error))).toBe(expected);
  });

  it('can derive the interval from the last data', () => {
    const every = pollEvery((data: number | undefined) => (data === 1 ? 2_000 : false));
    expect([every(state(null, 1)), every(state(null)), every(state(problem(429, '9'), 1))]).toEqual([
      2_000,
      false,
      9_000,
    ]);
  });

  it('without an interval happens only after a wait that the server asks for', () => {
    expect([pollEvery(false)(state(null)), pollEvery(false)(state(problem(429, '3')))]).toEqual([false, 3_000]);
  });
});

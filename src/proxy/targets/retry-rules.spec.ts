/** The retry rules as a complete table. `test/e2e/retries.spec.ts` tests those that a client can observe. */
import { describe, expect, it } from '@jest/globals';
import { UPSTREAM_OUTCOMES } from '../../platform/metrics/request-metrics.js';
import { Problem } from '../../platform/problems/errors.js';
import { isRepeatable, mayRetry, withoutAutomaticRetry } from './retry-rules.js';
import type { UpstreamOutcome } from './upstream-errors.js';

/**
 * `+` means retried. A row has four cells: `-` for a request that is not repeatable, `r` for a repeatable one. `s` and
 * `b` are the same, for a probe while other targets are in service.
 */
const TABLE = `
                    | failed by itself    | ended by us         |
                    | unopened | opened   | unopened | opened   |
                    | -srb     | -srb     | -srb     | -srb     |
answered            | ....     | ....     | ....     | ...+     |
unreachable         | ++++     | ....     | ....     | ....     |
connect_timeout     | ++++     | ....     | ....     | ....     |
first_byte_timeout  | ....     | ....     | ....     | ...+     |
idle_timeout        | ....     | ....     | ....     | ....     |
reset               | ++++     | ..++     | ....     | ....     |
bad_response        | ....     | ..++     | ....     | ....     |
body_broken_off     | ....     | ....     | ....     | ....     |
moved               | ....     | ....     | ++++     | ..++     |
client_gone         | ....     | ....     | ....     | ....     |
client_too_slow     | ....     | ....     | ....     | ....     |
access_ended        | ....     | ....     | ....     | ....     |
request_too_large   | ....     | ....     | ....     | ....     |
out_of_resources    | .+.+     | ....     | ....     | ....     |
out_of_ports        | ++++     | ....     | ....     | ....     |
`;

/** An outcome and its four cells. */
const ROWS = TABLE.trim()
  .split('\n')
  .slice(3)
  .map((line) => line.split('|').map((cell) => cell.trim()));

/** Evaluates the rule in the format of a row. */
function rowOf(outcome: UpstreamOutcome): string[] {
  const cells = [];
  for (const wasEnded of [false, true]) {
    for (const wasOpened of [false, true]) {
      let cell = '';
      for (const repeatable of [false, true]) {
        for (const isSpare of [false, true]) {
          cell += mayRetry(outcome, wasOpened, repeatable, isSpare, wasEnded) ? '+' : '.';
        }
      }
      cells.push(cell);
    }
  }
  return [outcome, ...cells, ''];
}

describe('the retry decision', () => {
  it('is in the table for every outcome', () => {
    expect(ROWS.map(([outcome]) => outcome)).toEqual([...UPSTREAM_OUTCOMES]);
  });

  it.each(ROWS)('after %s is as in the table: %s %s %s %s', (outcome, ...cells) => {
    expect(rowOf(outcome as UpstreamOutcome)).toEqual([outcome, ...cells]);
  });
});

it.each([
  ['GET', true],
  ['HEAD', true],
  ['OPTIONS', true],
  ['PUT', true],
  ['DELETE', true],
  ['QUERY', true],
  ['POST', false],
  ['PATCH', false],
  ['CONNECT', false],
  ['get', false],
  [undefined, false],
])('%s may be repeated: %s (RFC 9110 section 9.2.2)', (method, may) => {
  expect(isRepeatable(method)).toBe(may);
});

describe('X-Should-Retry: false is set if the request may have been processed', () => {
  const isWarned = (method: string, problem: Problem): boolean =>
    withoutAutomaticRetry(problem, method).options.headers?.includes('X-Should-Retry') === true;

  it.each([
    ['backend_bad_response', true],
    ['backend_timeout', true],
    ['backend_error', true],
    ['backend_unavailable', false],
    ['content_too_large', false],
  ] as const)('%s: after a POST %s, never after a GET', (code, told) => {
    const problem = new Problem(code, { headers: ['Via', 'test'] });
    expect([isWarned('POST', problem), isWarned('GET', problem)]).toEqual([told, false]);
    expect(withoutAutomaticRetry(problem, 'POST').options.headers?.slice(0, 2)).toEqual(['Via', 'test']);
  });
});

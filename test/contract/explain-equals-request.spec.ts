/**
 * The explanation of a request equals the response to the request, for random keys, scopes, limits, dates, addresses
 * and faults. TRAILGATE_TEST_SEED repeats a run.
 */
import { deepStrictEqual } from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Explanation } from '../../src/admin/explain/explainer.js';
import { STEPS } from '../../src/admission/steps.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ErrorPages } from '../../src/platform/problems/error-pages.js';
import { ERRORS } from '../../src/platform/problems/errors.js';
import { problemBody } from '../../src/platform/problems/problem-body.js';
import { testDatabase } from '../support/database.js';
import { describeWithRedis } from '../support/describe-with.js';
import { ExplainedWorld, type Told } from '../support/explained-world.js';
import { openLosableQuotas, openProcessQuotasWithFaults, type FaultyQuotas } from '../support/faulty-quotas.js';
import { RUNS } from '../support/histories.js';
import type { TestClock } from '../support/stores.js';

const PAGES = new ErrorPages('http://localhost:8080');

/** Total number of requests for both kinds of counters. */
const REQUESTS = 4_000;
/** Returns how the explanation and the response differ, or undefined. */
function difference({ problem }: Explanation, { status, headers, body }: Told, method: string): unknown {
  if (problem === undefined) return status === 200 ? undefined : { explained: 'admitted', status, body };
  const wanted = problem.options.headers ?? [];
  const differing = wanted.filter((name, at) => at % 2 === 0 && headers[name.toLowerCase()] !== wanted[at + 1]);
  const expected = problemBody(problem, String(headers['x-request-id']), PAGES);
  const isSame = method === 'HEAD' ? status === problem.status : body === JSON.stringify(expected);
  return isSame && status === problem.status && differing.length === 0
    ? undefined
    : { expected, status, body, differing, headers };
}

const refusable = (status: number): boolean => STEPS.some(({ refusesWith }) => refusesWith.includes(status));

function suite(
  requests: number,
  openQuotas: (database: DatabaseHandle, clock: TestClock) => Promise<FaultyQuotas>,
): void {
  let database: DatabaseHandle;
  let world: ExplainedWorld;
  beforeAll(async () => {
    database = await testDatabase('sqlite');
    world = new ExplainedWorld(database, RUNS.seed);
    await world.open(openQuotas);
    // Removes the random part of Retry-After.
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await world.close();
    await database.close();
  });

  it(`predicts the responses to ${requests} random requests`, async () => {
    writeSync(2, `explanations: TRAILGATE_TEST_SEED=${RUNS.seed}\n`);
    const codes = new Map<string, number>();
    for (let at = 0; at < requests; at++) {
      await world.change();
      const drawn = world.draw();
      const explanation = await world.explain(drawn);
      const response = await world.ask(drawn);
      const { method, path, host, clientAddress, caller } = drawn;
      const asked = { at, method, path, host, clientAddress, key: caller.key, account: caller.account };
      const differing = difference(explanation, response, method);
      if (differing !== undefined) deepStrictEqual({ asked, differing }, undefined);
      const code = explanation.problem?.code ?? 'admitted';
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code !== 'admitted' && ![421, 501].includes(ERRORS[code].status))
        deepStrictEqual([code, refusable(response.status)], [code, true]);
    }
    const wanted = [
      'admitted',
      'route_not_found',
      'method_not_allowed',
      'invalid_path',
      'not_implemented',
      'misdirected_request',
      'bad_request',
    ];
    const ofKeys = [
      'operation_sunset',
      'operation_brownout',
      'malformed_authorization',
      'revoked_api_key',
      'expired_api_key',
      'too_many_failed_attempts',
    ];
    const rest = [
      'key_paused',
      'ip_not_allowed',
      'account_suspended',
      'insufficient_scope',
      'rate_limited',
      'quota_exceeded',
      'quota_unavailable',
    ];
    // Expects each of these codes at least once.
    for (const code of [...wanted, ...ofKeys, ...rest]) expect([code, codes.get(code) ?? 0]).not.toEqual([code, 0]);
  });
}

describe('explain, with in-process counters and database outages', () => {
  suite(REQUESTS / 2, openProcessQuotasWithFaults);
});

describeWithRedis('explain, with counters in Redis and Redis outages', () => {
  suite(REQUESTS / 2, openLosableQuotas);
});

/**
 * Responses to requests with an accepted key have the rate limit fields, whatever the result. The tests provoke every
 * error code that can occur after the key is accepted. All other codes are listed as codes without the fields.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS, type ErrorCode } from '../../src/platform/problems/errors.js';
import { json, startBackend, type Backend, type BackendHandler } from '../support/backend.js';
import { send, type Answer, type SendOptions } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { limitFieldsOf, policiesOf } from '../support/rate-limit.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const PLANS = {
  wide: { key: { minute: 1_000 }, account: { month: 10_000 } },
  minute: { key: { minute: 1 }, account: { month: 10_000 } },
  month: { key: { minute: 1_000 }, account: { month: 1 } },
};
const POLICIES = ['key-minute', 'account-month'];
const OWN_POLICY = 'usage-queries';

let backend: Backend;
let handler: BackendHandler;
let gateway: SharedTrailgate;
const secrets = new Map<string, string>();

beforeAll(async () => {
  backend = await startBackend((...args) => handler(...args), { atOnce: true });
  gateway = await acquireTrailgate({
    backend: backend.url,
    config: {
      services: {
        backend: { maxBodyBytes: 1_000, retries: { most: 0 }, timeouts: { firstByte: '1s', idle: '300ms' } },
        nowhere: { targets: ['http://127.0.0.1:9'], retries: { most: 0 } },
        authenticating: { targets: [backend.url], authenticates: true },
        narrow: { targets: [backend.url], connections: 2, queue: 2 },
      },
      operations: ['nowhere', 'authenticating', 'narrow'].map((service) => ({
        match: `GET /${service}`,
        service,
        scopes: [],
      })),
      plans: PLANS,
    },
  });
  for (const plan of Object.keys(PLANS)) secrets.set(plan, (await gateway.admin.newKey(plan)).key.secret);
  const scopeless = await gateway.admin.newKey('wide', { scopes: ['files:read'] });
  secrets.set('scopeless', scopeless.key.secret);
  secrets.set('sums', (await gateway.admin.newKey('wide')).key.secret);
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

function ask(path = '/customers', { key = 'wide', ...options }: SendOptions & { key?: string } = {}): Promise<Answer> {
  const headers = { Authorization: `Bearer ${secrets.get(key)}` };
  return send(`${gateway.gatewayUrl}/api/v1${path}`, { headers, ...options });
}

/** Sends a request to which the backend gives this response. */
function answeredWith(status: number, body: unknown = {}, path = '/customers'): Promise<Answer> {
  handler = json(body, status);
  return ask(path);
}

/** Sends a request with an `Idempotency-Key`. */
function post(idempotencyKey: string, body = ''): Promise<Answer> {
  const headers = { Authorization: `Bearer ${secrets.get('wide')}`, 'Idempotency-Key': idempotencyKey };
  return ask('/customers', { method: 'POST', headers, body });
}

/** Sends a request several times. @returns the last response. */
async function repeat(times: number, path: string, options: { key?: string } = {}): Promise<Answer> {
  let answer = await ask(path, options);
  for (let time = 1; time < times; time++) answer = await ask(path, options);
  return answer;
}

/** Sends the head of a request, and an invalid or incomplete body once the backend has the head. */
async function sendBrokenBody(framing: string, body: string): Promise<Answer> {
  backend.requests.length = 0;
  handler = () => undefined;
  const socket = connect(Number(new URL(gateway.gatewayUrl).port), '127.0.0.1');
  const fields = ['Host: a', `Authorization: Bearer ${secrets.get('wide')}`, 'X-Request-Id: my-own', framing];
  socket.write(`POST /api/v1/customers HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`);
  await eventually('the backend has the head', () => backend.requests.length > 0);
  socket.write(body);
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
  await once(socket, 'close');
  const answer = parseAnswer(received);
  expect(answer.headers['x-request-id']).toBe('my-own');
  return answer;
}

const BEFORE = 'comes before the key has been accepted';
const ADMIN = 'is of the admin API';

/** Request that provokes each code, or the reason why the code has no fields. */
const CODES: Readonly<Record<ErrorCode, (() => Promise<Answer>) | string>> = {
  bad_request: () => sendBrokenBody('Transfer-Encoding: chunked', 'this is no chunk\r\n'),
  invalid_path: BEFORE,
  request_timeout: () => sendBrokenBody('Content-Length: 100', 'the first of it'),
  content_too_large: () => ask('/customers', { method: 'POST', body: 'a'.repeat(1_001) }),
  uri_too_long: BEFORE,
  unsupported_media_type: () => answeredWith(415),
  misdirected_request: BEFORE,
  tls_required: BEFORE,
  headers_too_large: BEFORE,
  not_implemented: BEFORE,
  route_not_found: BEFORE,
  method_not_allowed: BEFORE,
  operation_brownout: BEFORE,
  operation_sunset: BEFORE,
  origin_not_allowed: BEFORE,
  too_many_failed_attempts: BEFORE,
  malformed_authorization: BEFORE,
  missing_api_key: BEFORE,
  invalid_api_key: () => answeredWith(401, {}, '/authenticating'),
  expired_api_key: BEFORE,
  revoked_api_key: BEFORE,
  key_paused: BEFORE,
  ip_not_allowed: BEFORE,
  account_suspended: BEFORE,
  authentication_unavailable: BEFORE,
  insufficient_scope: () => ask('/customers', { key: 'scopeless' }),
  invalid_idempotency_key: () => post('a, "b"'),
  idempotency_in_progress: async () => {
    let end = (): unknown => undefined;
    handler = (_request, response) => void (end = () => response.end());
    const first = post('under way');
    await eventually('the backend gets the request', () =>
      backend.requests.some(({ headers }) => headers['idempotency-key'] === 'under way'),
    );
    const refused = await post('under way');
    end();
    await first;
    return refused;
  },
  idempotency_outcome_unknown: async () => {
    handler = (request) => void request.socket.destroy();
    await post('lost');
    return post('lost');
  },
  idempotency_not_stored: async () => {
    handler = (_request, response) => void response.end('a'.repeat(70_000));
    await post('large');
    return post('large');
  },
  idempotency_mismatch: async () => {
    await post('one', 'a');
    return post('one', 'b');
  },
  too_many_idempotent_retries: 'needs 600 of them: idempotent-requests.spec.ts has its fields',
  idempotency_unavailable: 'means that the store cannot be asked: idempotent-outages.spec.ts has its fields',
  rate_limited: () => repeat(2, '/customers', { key: 'minute' }),
  quota_exceeded: () => repeat(2, '/customers', { key: 'month' }),
  quota_unavailable: 'means that the counters cannot be asked',
  too_many_usage_queries: () => repeat(61, '/usage?group_by=day', { key: 'sums' }),
  too_many_concurrent_requests: async () => {
    const held: (() => unknown)[] = [];
    handler = (_request, response) => void held.push(() => response.end());
    const all = Array.from({ length: 6 }, () => ask('/narrow'));
    const refused = await Promise.race(all);
    handler = json({});
    for (const end of held) end();
    await Promise.all(all);
    return refused;
  },
  backend_unreachable: () => ask('/nowhere'),
  backend_bad_response: () => answeredWith(401),
  backend_unavailable: () => answeredWith(503),
  backend_timeout: () => answeredWith(504),
  backend_error: () => answeredWith(500),
  request_refused: () => answeredWith(400, { message: 'The date is in the past' }),
  validation_failed: () => answeredWith(422, { errors: [{ field: 'email', message: 'is not valid' }] }),
  payment_required: () => answeredWith(402),
  forbidden: () => answeredWith(403, {}, '/authenticating'),
  resource_not_found: () => answeredWith(404),
  not_acceptable: () => answeredWith(406),
  conflict: () => answeredWith(409),
  resource_gone: () => answeredWith(410),
  precondition_failed: () => answeredWith(412),
  backend_rate_limited: () => answeredWith(429),
  invalid_parameter: () => ask('/usage?limit=1'),
  invalid_cursor: () => ask('/usage?group_by=day&cursor=junk'),
  missing_credentials: ADMIN,
  invalid_credentials: ADMIN,
  identity_provider_unavailable: ADMIN,
  sign_in_busy: ADMIN,
  session_ended: ADMIN,
  sign_in_ended: ADMIN,
  cross_site_request: ADMIN,
  confirmation_required: ADMIN,
  link_ended: ADMIN,
  identity_unknown: ADMIN,
  last_owner: ADMIN,
  last_way_to_sign_in: ADMIN,
  event_conflict: ADMIN,
  already_a_member: ADMIN,
  idempotency_secret_shown: ADMIN,
  too_many_endpoints: ADMIN,
  previous_secret_active: ADMIN,
  webhook_secret_in_use: ADMIN,
  webhook_endpoint_disabled: ADMIN,
  secrets_unavailable: ADMIN,
  too_many_requests: ADMIN,
  database_unavailable: ADMIN,
  shutting_down: BEFORE,
  gateway_overloaded: 'needs a program without file descriptors: file-descriptors.spec.ts has its fields',
  internal_error: 'means that something is wrong with the program itself',
};

describe('the rate limit fields are present on', () => {
  const cases = Object.entries(CODES).flatMap(([code, make]) => (typeof make === 'string' ? [] : [[code, make]]));

  it.each(cases as [ErrorCode, () => Promise<Answer>][])('%s', async (code, make) => {
    handler = json({});
    const answer = await make();
    expectProblem(answer, code);
    expect(answer.status).toBe(ERRORS[code].status);
    const names = policiesOf(answer).map(({ name }) => name);
    expect(names.filter((name) => name !== OWN_POLICY)).toEqual(POLICIES);
    expect(limitFieldsOf(answer)).toEqual(
      expect.arrayContaining(['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit', 'x-ratelimit-remaining']),
    );
  });
});

it('too many aggregated usage queries get their own error code and limit, and use up no plan limit', async () => {
  const { key } = await gateway.admin.newKey('wide');
  const sum = (): Promise<Answer> =>
    send(`${gateway.gatewayUrl}/api/v1/usage?group_by=day`, { headers: { Authorization: `Bearer ${key.secret}` } });
  const first = await sum();
  expect(first.status).toBe(200);
  expect(policiesOf(first)).toMatchObject([
    { name: OWN_POLICY, q: 60, w: 60, r: 59 },
    { name: 'key-minute', r: 1_000 },
    { name: 'account-month', r: 10_000 },
  ]);
  for (let time = 1; time < 60; time++) expect((await sum()).status).toBe(200);
  const refused = await sum();
  const [own] = policiesOf(refused);
  expect(own).toMatchObject({ name: OWN_POLICY, q: 60, w: 60, r: 0 });
  expect(expectProblem(refused, 'too_many_usage_queries')).toMatchObject({
    'violated-policies': [OWN_POLICY],
    retry_after: Number(refused.headers['retry-after']),
  });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(own?.t ?? 0);
  expect(refused.headers).toMatchObject({
    'x-should-retry': 'true',
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(own?.t),
  });
  // The refusals affect neither the limits of the plan nor the report without aggregation.
  const report = await send(`${gateway.gatewayUrl}/api/v1/usage`, {
    headers: { Authorization: `Bearer ${key.secret}` },
  });
  expect(report.status).toBe(200);
  expect(policiesOf(report)).toMatchObject([
    { name: 'key-minute', r: 1_000 },
    { name: 'account-month', r: 10_000 },
  ]);
});

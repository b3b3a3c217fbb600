/**
 * A POST or PATCH with an Idempotency-Key is carried out once across all nodes, however often it is sent. Repetitions
 * get the stored response free of charge.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { seriesOf } from '../support/metrics-text.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { send, type Answer } from '../support/http.js';
import { describeOnStores } from '../support/worlds.js';

/** Header fields that can differ between a response and its replay. */
const PER_RESPONSE = /^(?:date|x-request-id|ratelimit|x-ratelimit-.*|idempotent-replayed|connection|keep-alive)$/;

const SET = { window: 'month', type: 'set', reason: 'A test' };

/** Returns the parts of a response that a replay must repeat. */
function repeatable({ status, rawHeaders, body }: Answer): unknown {
  const fields = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !PER_RESPONSE.test(name.toLowerCase()) ? [`${name}: ${rawHeaders[at + 1]}`] : [],
  );
  return { status, fields: fields.toSorted(), body: body.toString('latin1') };
}

describeOnStores('a POST with an Idempotency-Key', (kind) => {
  let world: KeyedWorld;
  let key: string;
  beforeAll(async () => {
    world = await startKeyedWorld(kind);
  });
  afterAll(() => world.stop());
  beforeEach(() => {
    key = randomUUID();
    world.says = makesCustomer;
  });

  it('that is sent ten times at once to all nodes is carried out once and charged once', async () => {
    const before = await world.charged();
    world.says = (request, response, recorded) =>
      void setTimeout(() => void makesCustomer(request, response, recorded), 200);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => world.post(key, { at })));
    const made = answers.filter(({ status }) => status === 201);
    // On a busy machine, late requests may get the stored response instead of a 409.
    expect(made.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 201) continue;
      expectProblem(answer, 'idempotency_in_progress');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect(answer.headers).toHaveProperty('ratelimit');
    }
    expect(world.carriedOut(key)).toBe(1);
    expect((await world.charged()) - before).toBe(1);
  });

  it('gets the stored response when repeated on any node, byte for byte and free, key quoted or bare', async () => {
    const first = await world.post(key);
    expect(first.status).toBe(201);
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    expect(first.headers).not.toHaveProperty('idempotency-stored');
    const before = await world.charged();
    for (const [at, field] of [key, `"${key}"`, key].entries()) {
      const again = await world.post(field, { at });
      expect(repeatable(again)).toEqual(repeatable(first));
      expect(again.headers['idempotent-replayed']).toBe('true');
      expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
      expect(again.headers).toHaveProperty('ratelimit');
    }
    expect(world.carriedOut(key)).toBe(1);
    expect(await world.charged()).toBe(before);
  });

  it('is refused when repeated with another body, query, content type, or method and path', async () => {
    await world.post(key);
    const others = [
      { body: '{"name":"Eva"}' },
      { body: '' },
      { to: '/customers?dry=1' },
      { to: '/customers/cus_1', method: 'PATCH' },
      { type: 'text/plain' },
    ];
    for (const [at, other] of others.entries()) {
      const refused = await world.post(key, { at, ...other });
      expectProblem(refused, 'idempotency_mismatch');
      expect(refused.headers['x-should-retry']).toBe('false');
    }
    expect(world.carriedOut(key)).toBe(1);
  });

  it.each([
    [400, 'request_refused'],
    [404, 'resource_not_found'],
    [409, 'conflict'],
    [422, 'validation_failed'],
    [500, 'backend_error'],
  ] as const)('gets the stored %d response when repeated', async (status, code) => {
    world.says = (_request, response) =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end('{"message":"The tour is full — sorry"}');
    const first = await world.post(key);
    expectProblem(first, code);
    world.says = makesCustomer;
    const again = await world.post(key, { at: 1 });
    expect(repeatable(again)).toEqual(repeatable(first));
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(world.carriedOut(key)).toBe(1);
  });

  it.each([408, 425, 429, 503, 401, 403])('is carried out again after the backend answers %d', async (status) => {
    world.says = (_request, response) => void response.writeHead(status).end();
    expect((await world.post(key)).status).toBeGreaterThanOrEqual(400);
    world.says = makesCustomer;
    await eventually('the request is carried out', async () => (await world.post(key, { at: 1 })).status === 201);
    expect(world.carriedOut(key)).toBe(2);
  });

  /** Repeats the request at the other node until its outcome is stored. That can be later than the response. */
  async function awaitOutcome(): Promise<Answer> {
    let again = await world.post(key, { at: 1 });
    await eventually('the outcome is stored', async () => {
      if (!again.text.includes('idempotency_in_progress')) return true;
      again = await world.post(key, { at: 1 });
      return false;
    });
    return again;
  }

  it.each([502, 504])('is not carried out again after %d, because its outcome is unknown', async (status) => {
    world.says = (_request, response) => void response.writeHead(status).end();
    expect((await world.post(key)).status).toBe(status);
    expectProblem(await awaitOutcome(), 'idempotency_outcome_unknown');
    expect(world.carriedOut(key)).toBe(1);
  });

  it('is not carried out again after the backend broke the connection', async () => {
    world.says = (request) => void request.socket.destroy();
    const first = await world.post(key);
    expectProblem(first, 'backend_bad_response');
    world.says = makesCustomer;
    expectProblem(await awaitOutcome(), 'idempotency_outcome_unknown');
    expect(world.carriedOut(key)).toBe(1);
  });

  it('whose client disconnects is carried out once, and its retry gets the response', async () => {
    world.says = (request, response, recorded) =>
      void setTimeout(() => void makesCustomer(request, response, recorded), 150);
    const gone = new AbortController();
    const left = world.post(key, { signal: gone.signal }).catch(() => 'left');
    await eventually('the backend gets the request', () => world.carriedOut(key) === 1);
    gone.abort();
    expect(await left).toBe('left');
    await eventually('the retry gets the response', async () => (await world.post(key, { at: 1 })).status === 201);
    expect(world.carriedOut(key)).toBe(1);
  });

  it('with a response over 64 KiB is marked as not stored, and its retry is refused', async () => {
    world.says = (_request, response) => void response.writeHead(201).end('x'.repeat(64 * 1_024 + 1));
    const first = await world.post(key);
    expect([first.status, first.body.length, first.headers['idempotency-stored']]).toEqual([201, 65_537, 'false']);
    expect(expectProblem(await awaitOutcome(), 'idempotency_not_stored').detail).toContain('201');
    expect(world.carriedOut(key)).toBe(1);
  });

  it('gets a stored 64 KiB binary response again byte for byte, although it came in pieces', async () => {
    const body = Buffer.alloc(64 * 1_024, Buffer.from(Array.from({ length: 256 }, (_, at) => at)));
    world.says = (_request, response) => {
      response.writeHead(201, { 'content-type': 'image/png' });
      response.write(body.subarray(0, 40_000));
      setTimeout(() => response.end(body.subarray(40_000)), 20);
    };
    const first = await world.post(key);
    const again = await world.post(key, { at: 1 });
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
    expect(again.body.equals(body)).toBe(true);
    expect(again.headers['content-length']).toBe(String(body.length));
    expect(repeatable(again)).toEqual(repeatable(first));
  });

  it('passes on a server-sent event stream as it arrives, and does not store it', async () => {
    let end = (): unknown => undefined;
    world.says = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      end = () => response.end('data: 2\n\n');
    };
    const response = await fetch(`${world.gateways[0]!.gatewayUrl}/api/v1/customers`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${world.key.secret}`, 'Idempotency-Key': key },
    });
    expect(response.headers.get('idempotency-stored')).toBe('false');
    const reader = response.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 1\n\n');
    end();
    while (!(await reader.read()).done);
    expectProblem(await world.post(key, { fields: [], body: '' }), 'idempotency_mismatch');
  });

  it('is carried out for each API key that sends it, in the same account and in another one', async () => {
    const admin = world.gateways[0]!.admin;
    const other = await admin.createKey(world.accountId);
    const foreign = (await admin.newKey('pro')).key;
    const made = new Set<string>();
    for (const { secret } of [world.key, other, foreign]) {
      const answer = await world.post(key, { secret });
      expect([answer.status, answer.headers['idempotent-replayed']]).toEqual([201, undefined]);
      made.add(answer.text);
    }
    expect(made.size).toBe(3);
    expect(world.carriedOut(key)).toBe(3);
  });

  it.each([
    ['empty', ['']],
    ['of 256 characters', ['a'.repeat(256)]],
    ['with a tab', ['a\tb']],
    ['with a quote inside', ['a"b']],
    ['with a quote that is not closed', ['"a']],
    ['quoted and empty', ['""']],
    ['quoted with parameters', ['"a";b=1']],
    ['not ASCII', ['schl\u00fcssel']],
    ['there twice', ['one', 'two']],
    ['there twice, and the same', ['one', 'one']],
  ])('is refused when its Idempotency-Key is %s', async (_what, fields) => {
    const before = world.backend.requests.length;
    const headers = fields.flatMap((field) => ['idempotency-key', field]);
    expectProblem(await world.post(undefined, { fields: headers }), 'invalid_idempotency_key');
    expect(world.backend.requests).toHaveLength(before);
  });

  it('accepts keys of 255 characters, of all allowed punctuation, and with escaped quotes', async () => {
    const odd = `${key}${' !#$%&()*+,-./:;<=>?@[]^_`{|}~'.repeat(9)}`.slice(0, 255);
    expect((await world.post(odd)).status).toBe(201);
    expect((await world.post(`"${odd}"`, { at: 1 })).headers['idempotent-replayed']).toBe('true');
    expect((await world.post('"a\\"b\\\\c"')).status).toBe(201);
  });

  it('is carried out every time if it has another method or no Idempotency-Key', async () => {
    world.says = (_request, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end(key);
    for (const method of ['GET', 'PUT', 'DELETE', 'HEAD']) {
      for (let time = 0; time < 2; time++) {
        const to = method === 'GET' || method === 'HEAD' ? '/customers' : '/customers/cus_1';
        const answer = await world.post(key, { method, to, ...(method === 'PUT' ? {} : { body: '' }) });
        expect([method, answer.status, answer.headers['idempotent-replayed']]).toEqual([method, 200, undefined]);
      }
    }
    for (let time = 0; time < 2; time++) expect((await world.post(undefined)).status).toBe(200);
  });

  it('that was refused for an exhausted quota is carried out when quota is available again', async () => {
    const { admin } = world.gateways[0]!;
    const { key: narrow, account } = await admin.newKey('starter');
    await admin.call('POST', `/accounts/${account.id}/quota-adjustments`, { ...SET, amount: 10_000 });
    const refused = await world.post(key, { secret: narrow.secret });
    expectProblem(refused, 'quota_exceeded');
    await admin.call('POST', `/accounts/${account.id}/quota-adjustments`, { ...SET, amount: 0 });
    await eventually(
      'the request is carried out',
      async () => (await world.post(key, { secret: narrow.secret })).status === 201,
    );
    expect(world.carriedOut(key)).toBe(1);
  });

  it('gets the stored response even after the quota is used up', async () => {
    const { admin } = world.gateways[0]!;
    const { key: narrow, account } = await admin.newKey('starter');
    expect((await world.post(key, { secret: narrow.secret })).status).toBe(201);
    await admin.call('POST', `/accounts/${account.id}/quota-adjustments`, { ...SET, amount: 10_000 });
    const again = await world.post(key, { secret: narrow.secret });
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
  });

  it('that is replayed is marked in the request log and counted in the metrics', async () => {
    const [gateway] = world.gateways;
    const counted = async (outcome: string) => {
      const { text } = await send(`${gateway!.adminUrl}/metrics`);
      return seriesOf(text).get(`trailgate_idempotent_requests_total{outcome="${outcome}"}`) ?? 0;
    };
    await world.post(key);
    const before = await counted('replayed');
    const again = await world.post(key);
    const id = again.headers['x-request-id'];
    await eventually('the request is logged', () => gateway!.logs().some((line) => line['request_id'] === id));
    const line = gateway!.logs().find((each) => each['request_id'] === id);
    expect(line).toMatchObject({ status: 201, replayed: true });
    expect(line).not.toHaveProperty('quota');
    expect((await counted('replayed')) - before).toBe(1);
  });
});

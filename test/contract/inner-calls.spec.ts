/**
 * A request that is made inside comes to what the same request comes to over HTTP: to its backend, to its caller, in
 * its counters, its usage and its log.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import type { CachedKey } from '../../src/keys/cached-key.js';
import { startBackend, type Backend, type RecordedRequest } from '../support/backend.js';
import { open, send } from '../support/http.js';
import { startInnerWorld, type InnerRequest, type InnerResult, type InnerWorld } from '../support/inner-world.js';
import { eventually, temporaryFolder } from '../support/processes.js';

const LARGE = 'x'.repeat(200_000);
const FIRST_BYTE_MS = 300;
const IDLE_MS = 400;

let backend: Backend;
let world: InnerWorld;
let secret: string;
const logFile = join(temporaryFolder('inner-log'), 'log');
/** Responses that do not end. */
const endless: ServerResponse[] = [];

/** What the backend does with `/files/<name>`. */
async function respond(name: string, response: ServerResponse, { body }: RecordedRequest): Promise<void> {
  const say = (status: number, text: string) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  if (/^\d{3}$/.test(name)) {
    const detail = JSON.stringify({ message: 'as the backend says', code: 'its_own' });
    say(Number(name), name === '204' ? '' : detail);
  } else if (name === 'echo') say(200, body.toString());
  else if (name === 'chunked' || name === 'endless' || name === 'broken' || name === 'trickle') {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"pieces":[1');
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (name === 'chunked') response.end(',2]}');
    else if (name === 'broken') response.destroy();
    else if (name === 'endless') {
      endless.push(response);
      const write = (): void => {
        while (response.write(LARGE)) continue;
        response.once('drain', write);
      };
      write();
    } else {
      endless.push(response);
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    }
  } else if (name === 'large') say(200, `"${LARGE}"`);
  else if (name === 'reset') response.destroy();
  else if (name !== 'hang') say(200, JSON.stringify({ name }));
}

beforeAll(async () => {
  backend = await startBackend(async (request, response, recorded) => {
    const name = /\/files\/([^?]*)/.exec(request.url ?? '')?.[1] ?? '';
    await respond(name, response, recorded);
  });
  const operation = (match: string, scope: string) => ({ match, service: 'files', scopes: [scope] });
  const file = {
    gateway: { host: '127.0.0.1', port: 0 },
    services: {
      files: { targets: [backend.url], timeouts: { firstByte: `${FIRST_BYTE_MS}ms`, idle: `${IDLE_MS}ms` } },
      nowhere: { targets: ['http://127.0.0.1:9'] },
    },
    operations: [
      operation('GET /files/{name}', 'files:read'),
      operation('HEAD /files/{name}', 'files:read'),
      operation('POST /files/{name}', 'files:write'),
      operation('GET /files/secret', 'files:read'),
      { match: 'GET /nowhere', service: 'nowhere', scopes: [] },
      { match: 'GET /gone', service: 'files', scopes: [], sunset: '2020-01-01' },
      { match: 'POST /emits/{name}', service: 'files', scopes: [], emits: 'file.read' },
    ],
    events: ['file.read'],
    plans: { some: { key: { minute: 1_000 }, account: { month: 10_000 } }, few: { key: { minute: 3 } } },
  };
  world = await startInnerWorld({ 'gateway.yaml': JSON.stringify(file) }, logFile);
  ({ secret } = await world.newKey('some'));
});
afterAll(async () => {
  for (const response of endless) response.destroy();
  await world?.stop();
  await backend.stop();
});

const get = (name: string, more: Partial<InnerRequest> = {}): InnerRequest => ({
  match: 'GET /files/{name}',
  url: `/api/v1/files/${name}`,
  ...more,
});

/** The same over HTTP. */
async function rest({ match, url, body }: InnerRequest, of = secret) {
  const headers = { authorization: `Bearer ${of}`, ...(body === undefined ? {} : { 'content-type': 'text/plain' }) };
  const method = match.split(' ')[0]!;
  return send(world.url + url, { method, headers, ...(body === undefined ? {} : { body }) });
}

/** What differs from request to request. */
function withoutNames(problem: Record<string, unknown> | null): unknown {
  const { request_id: _, retry_after: __, ...rest } = problem ?? {};
  return rest;
}

describe('a request that is served', () => {
  it.each([
    ['a small response', get('small')],
    ['one in chunks', get('chunked')],
    ['one without a body', get('204')],
    ['a query', get('small?a=%C3%BC&a=2&b=')],
    [
      'an upload',
      {
        match: 'POST /files/{name}',
        url: '/api/v1/files/echo',
        body: '{"a":"ü"}',
        lines: 'content-type: text/plain\r\n',
      },
    ],
    ['one of an operation that emits', { match: 'POST /emits/{name}', url: '/api/v1/emits/x' }],
  ] satisfies [string, InnerRequest][])('%s comes to the same', async (_what, request) => {
    const asked = await rest(request);
    const inner = await world.inner(secret, request);
    expect([inner.status, inner.body, inner.isCut, inner.problem]).toEqual([asked.status, asked.text, false, null]);
    const [first, second] = backend.requests.slice(-2);
    expect([second?.method, second?.url, second?.body.toString()]).toEqual([
      first?.method,
      first?.url,
      first?.body.toString(),
    ]);
    for (const name of ['x-account-id', 'x-api-key-id', 'x-api-scopes', 'forwarded', 'x-forwarded-prefix', 'host'])
      expect([name, second?.headers[name]]).toEqual([name, first?.headers[name]]);
    expect(second?.headers['authorization']).toBeUndefined();
    expect(second?.headers['accept-encoding']).toBeUndefined();
  });

  it('says what is left of the quota, as the response over HTTP does', async () => {
    const asked = await rest(get('small'));
    const { quotaLines } = await world.inner(secret, get('small'));
    const left = (text: string | undefined) => Number(/"key-minute";r=(\d+)/.exec(text ?? '')?.[1]);
    expect(left(quotaLines)).toBe(left(String(asked.headers['ratelimit'])) - 1);
  });

  it('has the id of the request that it was made of', async () => {
    const headers = { authorization: `Bearer ${secret}`, 'x-request-id': 'asked-inside-1' };
    await send(`${world.url}/inner`, { method: 'POST', headers, body: get('small') });
    expect(backend.requests.at(-1)?.headers['x-request-id']).toBe('asked-inside-1');
  });
});

describe('a body that is larger than what is taken', () => {
  it.each(['large', 'endless'])('is cut (%s), and nothing more of it is read', async (name) => {
    const { status, body, isCut } = await world.inner(secret, get(name, { mostBytes: 10_000 }));
    expect([status, body.length, isCut]).toEqual([200, 10_000, true]);
    await eventually('the backend is let go of', () => backend.requests.at(-1)?.aborted !== false || name === 'large');
  });

  it('of a size that comes in one piece is cut as well', async () => {
    expect(await world.inner(secret, get('small', { mostBytes: 4 }))).toMatchObject({ body: '{"na', isCut: true });
  });

  it('of just that size is whole', async () => {
    const inner = await world.inner(secret, get('large', { mostBytes: LARGE.length + 2 }));
    expect([inner.body.length, inner.isCut]).toEqual([LARGE.length + 2, false]);
  });

  it('that is an event as well is one no less', async () => {
    const request = { match: 'POST /emits/{name}', url: '/api/v1/emits/x', mostBytes: 3 };
    expect(await world.inner(secret, request)).toMatchObject({ status: 200, body: '{"n', isCut: true });
  });
});

describe('a request that is refused or fails', () => {
  it.each([
    ['404', get('404')],
    ['409', get('409')],
    ['422', get('422')],
    ['500', get('500')],
    ['503', get('503')],
    ['a connection that is reset', get('reset')],
    ['a backend that says nothing', get('hang')],
    ['no backend', { match: 'GET /nowhere', url: '/api/v1/nowhere' }],
    ['an operation that has ended', { match: 'GET /gone', url: '/api/v1/gone' }],
    ['a path that can be read in two ways', get('a%2Fb')],
  ] satisfies [string, InnerRequest][])('by %s comes to the same', async (_what, request) => {
    const asked = await rest(request);
    const inner = await world.inner(secret, request);
    expect([inner.status, withoutNames(inner.problem)]).toEqual([asked.status, withoutNames(asked.json())]);
  });

  it('by a body that breaks off is told so, instead of a response that looks whole', async () => {
    expect((await world.inner(secret, get('broken'))).problem).toMatchObject({ code: 'backend_bad_response' });
  });

  it('by a body that trickles in without end ends when its time is over', async () => {
    const startedMs = performance.now();
    expect((await world.inner(secret, get('trickle'))).problem).toMatchObject({ code: 'backend_timeout' });
    expect(performance.now() - startedMs).toBeLessThan(10 * IDLE_MS);
  });

  it('by its key, its scopes or its limit comes to the same', async () => {
    const unknown = `tg_live_${'a'.repeat(40)}`;
    const reader = (await world.newKey('some', ['files:read'])).secret;
    const few = (await world.newKey('few')).secret;
    const write = { match: 'POST /files/{name}', url: '/api/v1/files/echo', body: 'x' };
    for (const [of, request] of [
      [unknown, get('small')],
      [reader, write],
    ] as const) {
      const asked = await rest(request, of);
      const inner = await world.inner(of, request);
      expect([inner.status, withoutNames(inner.problem)]).toEqual([asked.status, withoutNames(asked.json())]);
    }
    const statuses: number[] = [];
    for (let at = 0; at < 3; at++) {
      statuses.push((await rest(get('small'), few)).status, (await world.inner(few, get('small'))).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    const refused = await world.inner(few, get('small'));
    expect(refused.problem).toMatchObject({ code: 'rate_limited', 'violated-policies': ['key-minute'] });
  });

  it('by leading to another operation than the one that is meant reaches nothing', async () => {
    const before = backend.requests.length;
    const inner = await world.inner(secret, get('secret'));
    expect(inner.problem).toMatchObject({ code: 'route_not_found' });
    expect(backend.requests.length).toBe(before);
  });
});

describe('an Idempotency-Key among its fields', () => {
  const keyed = (name: string, key: string): InnerRequest => ({
    match: 'POST /files/{name}',
    url: `/api/v1/files/${name}`,
    body: '{"a":1}',
    lines: `content-type: application/json\r\nidempotency-key: ${key}\r\n`,
  });

  it('lets it be carried out once: what came of it is told again, and costs nothing', async () => {
    const { secret: few } = await world.newKey('few');
    const before = backend.requests.length;
    const results: InnerResult[] = [];
    for (let at = 0; at < 5; at++) results.push(await world.inner(few, keyed('echo', 'once')));
    expect(results.map(({ status, body }) => [status, body])).toEqual(
      Array.from({ length: 5 }, () => [200, '{"a":1}']),
    );
    expect(backend.requests.length - before).toBe(1);
    expect(results.map(({ lines }) => lines.includes('Idempotent-Replayed: true'))).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
  });

  it('is the same one over HTTP', async () => {
    const before = backend.requests.length;
    await world.inner(secret, keyed('echo', 'both-ways'));
    const headers = {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'idempotency-key': 'both-ways',
    };
    const asked = await send(`${world.url}/api/v1/files/echo`, { method: 'POST', headers, body: '{"a":1}' });
    expect([asked.status, asked.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(backend.requests.length - before).toBe(1);
  });

  it('tells a refusal of the backend again, too', async () => {
    const first = await world.inner(secret, keyed('409', 'refused'));
    expect(first.problem).toMatchObject({ code: 'conflict' });
    const again = await world.inner(secret, keyed('409', 'refused'));
    expect([again.status, (JSON.parse(again.body) as { code: string }).code]).toEqual([409, 'conflict']);
  });
});

describe('HEAD', () => {
  it('has no body, and is no fault', async () => {
    const request = { match: 'HEAD /files/{name}', url: '/api/v1/files/small' };
    expect(await world.inner(secret, request)).toMatchObject({ status: 200, body: '', problem: null });
    const missing = { match: 'HEAD /files/{name}', url: '/api/v1/files/404' };
    expect(await world.inner(secret, missing)).toMatchObject({ status: 404, problem: { code: 'resource_not_found' } });
  });
});

describe('a client that leaves', () => {
  it('ends its call: the backend is let go of, and the log says 499', async () => {
    const request = open(`${world.url}/inner`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'x-request-id': 'left' },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify(get('trickle')));
    const isThere = () => backend.requests.at(-1)?.url === '/files/trickle' && !backend.requests.at(-1)!.aborted;
    await eventually('the backend has it', isThere);
    request.destroy();
    await eventually('the backend is let go of', () => backend.requests.at(-1)?.aborted === true);
    await eventually('the log says so', () => linesOf('left').length === 1);
    expect(linesOf('left')[0]).toMatchObject({ status: 499, source: 'mcp', tool: 'a_tool' });
  });
});

describe('its end', () => {
  it('stands in one line of the log, as the request that it stands for, and in usage and the log of requests', async () => {
    const { secret: of, keyId, accountId } = await world.newKey('some');
    const headers = { authorization: `Bearer ${of}`, 'x-request-id': 'one-line' };
    await send(`${world.url}/inner`, { method: 'POST', headers, body: get('small') });
    await eventually('the log has it', () => linesOf('one-line').length > 0);
    expect(linesOf('one-line')).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/api/v1/files/small',
        status: 200,
        operation: 'get_files_name',
        account_id: accountId,
        api_key_id: keyId,
        source: 'mcp',
        tool: 'a_tool',
        quota: 'admitted',
      }),
    ]);
    const known = (await world.domain.keys.authenticator.authenticate(of, '127.0.0.1')) as CachedKey;
    const { windows } = await world.domain.usage.readWithRows(known.record, undefined);
    expect(windows.map(({ policy, used }) => [policy, used])).toEqual([
      ['key-minute', 1],
      ['account-month', 1],
    ]);
    const rows = world.written(accountId);
    expect(rows).toEqual([
      expect.objectContaining({ requestId: 'one-line', source: 'mcp', tool: 'a_tool', status: 200 }),
    ]);
  });
});

function linesOf(requestId: string): Record<string, unknown>[] {
  return readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"request_id":"${requestId}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

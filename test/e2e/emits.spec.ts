/**
 * An operation with `emits` writes an event for each success before the client gets the response. It writes no other
 * events.
 */
import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithPostgres } from '../support/describe-with.js';
import {
  EMITTING,
  heldBack,
  JSON_FIELDS,
  MAX_MS,
  msUntilReceived,
  responseWithLength,
  type Say,
} from '../support/emitting.js';
import { send, type Answer } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import { openDatabase } from '../../src/stores/database/connect.js';
import { newSecretsKey } from '../../src/stores/secrets/secret-box.js';

/** Maximum time that a response waits for the database, with some tolerance. */
const MAX_MS_WITHOUT_DATABASE = 1_500;

interface EventBody {
  readonly type: string;
  readonly resource: string | null;
  readonly source: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const inPieces: Say = (response) => {
  response.writeHead(201, JSON_FIELDS);
  response.write('{"id":"cus_pieces",');
  setTimeout(() => response.end('"name":"Ana"}'), 50);
};

const largeInPieces: Say = (response) => {
  response.writeHead(201, JSON_FIELDS);
  response.write(LARGE.slice(0, 40_000));
  setTimeout(() => response.end(LARGE.slice(40_000)), 50);
};

const GZIPPED = gzipSync('{"id":"cus_gzip"}');
const LARGE = JSON.stringify({ id: 'cus_large', notes: 'x'.repeat(64 * 1_024) });

describeWithPostgres('an operation that emits', () => {
  let database: FreshDatabase;
  let proxy: TcpProxy;
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let [own, foreign]: Receiver[] = [];
  let accountId: string;
  let otherId: string;
  let key: ApiKeyWithSecret;
  let says: Say = responseWithLength('{}');

  beforeAll(async () => {
    database = await freshDatabase();
    const url = new URL(database.url);
    proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    url.hostname = '127.0.0.1';
    backend = await startBackend((_request, response) => says(response));
    [own, foreign] = await Promise.all([startReceiver(), startReceiver()]);
    trailgate = await startTrailgate({
      backend: backend.url,
      env: { DATABASE_URL: url.href, TRAILGATE_SECRETS_KEY: newSecretsKey() },
      config: EMITTING,
    });
    const made = await trailgate.admin.newKey('pro');
    key = made.key;
    accountId = made.account.id;
    otherId = (await trailgate.admin.createAccount({ name: 'Kayaks', plan: 'pro' })).id;
    for (const [id, receiver] of [
      [accountId, own],
      [otherId, foreign],
    ] as const) {
      const endpoint = { url: `${receiver!.url}/hook`, event_types: ['customer.*'] };
      await trailgate.admin.call('POST', `/accounts/${id}/webhook-endpoints`, endpoint);
    }
  });
  afterAll(async () => {
    await trailgate.stop();
    await Promise.all([backend.stop(), proxy.close()]);
    own?.stop();
    foreign?.stop();
    await database.drop();
  });

  const call = (method = 'POST', path = '/customers', headers: Record<string, string> = {}): Promise<Answer> =>
    send(`${trailgate.gatewayUrl}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key.secret}`, ...headers },
    });
  const events = async (id = accountId): Promise<EventBody[]> => {
    const { data } = await trailgate.admin.call<{ data: EventBody[] }>('GET', `/accounts/${id}/events?limit=100`);
    return data.filter(({ type }) => type.startsWith('customer.'));
  };
  const counted = async (outcome: string): Promise<number> => {
    const { text } = await send(`${trailgate.adminUrl}/metrics`);
    return seriesOf(text).get(`trailgate_events_total{source="emits",outcome="${outcome}"}`) ?? 0;
  };
  const unwritten = async (): Promise<number | undefined> =>
    seriesOf((await send(`${trailgate.adminUrl}/metrics`)).text).get('trailgate_events_unwritten');

  it.each<[string, Say, string]>([
    ['with a length', responseWithLength('{"id":"cus_whole","name":"Ana"}'), 'cus_whole'],
    ['in pieces', inPieces, 'cus_pieces'],
    ['compressed', responseWithLength(GZIPPED, 200, { ...JSON_FIELDS, 'content-encoding': 'gzip' }), 'cus_gzip'],
  ])('writes the event of a response %s before the client has it', async (_how, say, id) => {
    says = say;
    const answer = await call();
    expect(answer.status).toBeLessThan(300);
    const [newest] = await events();
    expect(newest).toMatchObject({ type: 'customer.created', source: 'emits', resource: id, data: { id } });
  });

  it('passes on a response that came in pieces unchanged and with a Content-Length', async () => {
    says = inPieces;
    const answer = await call();
    expect(answer.json()).toEqual({ id: 'cus_pieces', name: 'Ana' });
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.text)));
  });

  it('sends each event to the receiver of its account within 250 ms, and to no other', async () => {
    const tookMs: number[] = [];
    for (let count = 0; count < 10; count++) {
      says = responseWithLength(`{"id":"cus_quick_${count}"}`);
      // Every request has the same ID, because it comes from the client. It must not suppress an event.
      const request = () => call('POST', '/customers', { 'X-Request-Id': 'req-of-the-client' });
      tookMs.push(await msUntilReceived(own!, accountId, `cus_quick_${count}`, request));
    }
    expect(Math.max(...tookMs)).toBeLessThan(MAX_MS);
    expect(foreign!.received).toEqual([]);
    expect(await events(otherId)).toEqual([]);
  });

  it.each([
    ['the head', undefined],
    ['the body', '{"id":"cus_left_'],
  ])('writes the event if the client disconnects before %s of the response', async (what, begun) => {
    const id = begun === undefined ? 'cus_left_head' : 'cus_left_body';
    let end = (): void => undefined;
    says = (response) => {
      response.writeHead(201, JSON_FIELDS);
      if (begun !== undefined) response.write(begun);
      end = () => void response.end(begun === undefined ? `{"id":"${id}"}` : 'body"}');
    };
    const { say, go } = heldBack(`{"id":"${id}"}`);
    if (begun === undefined) [says, end] = [say, go];
    const [seen, logged] = [backend.requests.length, trailgate.logs().length];
    const request = httpRequest(`${trailgate.gatewayUrl}/api/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-length': '2' },
    });
    request.on('error', () => undefined).end('{}');
    await eventually('the backend gets the request', () => backend.requests.length > seen);
    // Gives the first part of the response time to reach the gateway.
    await sleep(50);
    request.destroy();
    const isGone = () =>
      trailgate
        .logs()
        .slice(logged)
        .some(({ status }) => status === 499);
    await eventually('the gateway logs the disconnect', isGone);
    end();
    await eventually(`the event is written after a disconnect before ${what}`, async () =>
      (await events()).some(({ resource }) => resource === id),
    );
    says = responseWithLength('{"id":"cus_next"}');
    expect((await call()).status).toBe(201);
  });

  it('writes no event for a response that breaks off, and one for a request that was retried', async () => {
    const before = (await events()).length;
    says = (response) => {
      response.writeHead(201, { ...JSON_FIELDS, 'content-length': 50 });
      response.write('{"id":"cus_broken"', () => response.socket?.destroy());
    };
    expect((await call()).status).toBe(502);
    expect(await events()).toHaveLength(before);
    const seen = backend.requests.length;
    let isSecond = false;
    says = (response) => {
      if (isSecond) responseWithLength('{"id":"cus_again"}', 200)(response);
      else response.socket?.destroy();
      isSecond = true;
    };
    expect((await call('DELETE', '/customers/1')).status).toBe(200);
    expect(backend.requests.length - seen).toBe(2);
    expect(await events()).toHaveLength(before + 1);
  });

  it.each<[string, Say, string, string, number]>([
    ['a refusal', responseWithLength('{"id":"no"}', 422), 'POST', '/customers', 422],
    ['a failure', responseWithLength('{"id":"no"}', 500), 'POST', '/customers', 500],
    ['a 204', (response) => void response.writeHead(204).end(), 'DELETE', '/customers/1', 204],
    ['text', responseWithLength('{}', 200, { 'content-type': 'text/plain' }), 'POST', '/customers', 200],
    ['a list', responseWithLength('[{"id":"no"}]', 200), 'POST', '/customers', 200],
    ['broken JSON', responseWithLength('{"id":', 200), 'POST', '/customers', 200],
    ['more than 64 KiB', responseWithLength(LARGE), 'POST', '/customers', 201],
    ['more than 64 KiB in pieces', largeInPieces, 'POST', '/customers', 201],
    ['an operation that does not emit', responseWithLength('{"id":"no"}', 200), 'PUT', '/customers/1', 200],
  ])('writes no event for %s, and passes the response on', async (what, say, method, path, status) => {
    const [before, unusable] = [await events(), await counted('unusable')];
    says = say;
    const answer = await call(method, path);
    expect(answer.status).toBe(status);
    expect(answer.text === LARGE).toBe(status === 201);
    expect(await events()).toEqual(before);
    const isCounted = status < 300 && what !== 'an operation that does not emit';
    expect((await counted('unusable')) - unusable).toBe(isCounted ? 1 : 0);
  });

  it('releases the response if the database hangs, and writes the event once it is back', async () => {
    const late = await counted('late');
    // Sends a request first, so that the key is cached.
    await call();
    says = responseWithLength('{"id":"cus_late"}');
    proxy.holdAnswers();
    const atMs = performance.now();
    const answer = await call();
    const tookMs = quietMsSince(atMs);
    expect(await unwritten()).toBe(1);
    expect([answer.status, answer.text]).toEqual([201, '{"id":"cus_late"}']);
    expect(tookMs).toBeLessThan(MAX_MS_WITHOUT_DATABASE);
    proxy.cut();
    await sleep(500);
    proxy.release();
    await eventually('the event is written', async () =>
      (await events().catch(() => [])).some(({ resource }) => resource === 'cus_late'),
    );
    expect((await events()).filter(({ resource }) => resource === 'cus_late')).toHaveLength(1);
    expect(await counted('late')).toBe(late + 1);
    expect([await counted('dropped'), await unwritten()]).toEqual([0, 0]);
  });

  // Keep this test last, because it ends the program.
  it('writes an event that waits for the database before the program ends on SIGTERM', async () => {
    says = responseWithLength('{"id":"cus_last"}');
    proxy.holdAnswers();
    expect((await call()).status).toBe(201);
    const ended = trailgate.stop();
    await eventually('the shutdown has begun', () => trailgate.logs().some(({ event }) => event === 'shutdown_phase'));
    proxy.cut();
    proxy.release();
    expect((await ended).code).toBe(0);
    const written = await openDatabase({ dataDir: '', databaseUrl: database.url });
    const rows = written.db.selectFrom('event').select('id').where('resource', '=', 'cus_last');
    expect(await rows.execute()).toHaveLength(1);
    await written.close();
    expect(trailgate.logs().filter(({ event }) => event === 'event_dropped')).toEqual([]);
  });
});

/** Attack: HTTP/2 frames that no library sends, such as unknown methods, unread responses and incomplete bodies. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { json } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import {
  connectRawHttp2,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  FRAME,
  type RawHttp2,
} from '../support/raw-http2.js';
import { describeWithOpenssl } from '../support/describe-with.js';

const IDLE_MS = 1_000;
const WHOLE = END_HEADERS | END_STREAM;
/** RFC 9113 section 7. */
const PROTOCOL_ERROR = 1;
const REFUSED_STREAM = 7;
const ENHANCE_YOUR_CALM = 11;

describeWithOpenssl('over HTTP/2', () => {
  let gateway: Proxied;

  beforeAll(async () => {
    const { cert, key } = makeCertificate(temporaryFolder('http2-abuse'));
    gateway = await startProxied({
      config: {
        gateway: { tls: { cert, key } },
        services: { backend: { timeouts: { idle: `${IDLE_MS}ms` } } },
      },
    });
  });
  afterAll(() => gateway?.stop());
  beforeEach(() => gateway.answerWith(json({ ok: true })));

  const head = (method: string, path: string, more: readonly (readonly [string, string])[] = []): Buffer =>
    fieldBlock([
      [':method', method],
      [':scheme', 'https'],
      [':path', `/api/v1${path}`],
      [':authority', 'a.example'],
      ['authorization', gateway.authorization],
      ...more,
    ]);
  const metric = async (name: string): Promise<number> =>
    seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(name) ?? 0;
  const inFlight = async (): Promise<number> => {
    const { data } = await gateway.trailgate.admin.call<{ data: { in_flight: number }[] }>('GET', '/targets');
    return data.reduce((sum, target) => sum + target.in_flight, 0);
  };

  let logged = 0;
  const unknown = [501, 'not_implemented', 501, 'not_implemented'] as const;
  const known = [405, 'method_not_allowed', 404, 'route_not_found'] as const;
  it.each([
    ...['get', 'FOO', 'A_B', 'PRI', 'X'.repeat(8_000), 'PURGE'].map((method) => [method, ...unknown] as const),
    ...['TRACE', 'SEARCH'].map((method) => [method, ...known] as const),
  ])('an unsupported method gets an error: %s', async (method, status, code, elsewhereStatus, elsewhereCode) => {
    const raw = await connectRawHttp2(gateway.port);
    raw.send(frame(FRAME.headers, WHOLE, 1, head(method, '/open')));
    await eventually('there is an answer', () => raw.answer(1).ended);
    expect(JSON.parse(raw.answer(1).text)).toMatchObject({ status, code });
    raw.send(frame(FRAME.headers, WHOLE, 3, head(method, '/nothing')));
    await eventually('there is another', () => raw.answer(3).ended);
    expect(JSON.parse(raw.answer(3).text)).toMatchObject({ status: elsewhereStatus, code: elsewhereCode });
    raw.socket.destroy();
    expect(gateway.backend.requests).toEqual([]);
    const lines = () => gateway.trailgate.logs().filter(({ event }) => event === 'request');
    await eventually('both are logged', () => lines().length === logged + 2);
    expect(JSON.stringify(lines().at(-1)).length).toBeLessThan(1_000);
    logged = lines().length;
  });

  it.each(['?a=\xe4', '?a=\x80', '?\xff'])('non-ASCII bytes in a query reach no backend: %s', async (query) => {
    const raw = await connectRawHttp2(gateway.port);
    raw.send(frame(FRAME.headers, WHOLE, 1, head('GET', `/open${query}`)));
    await eventually('there is an answer', () => raw.answer(1).ended);
    expect(JSON.parse(raw.answer(1).text)).toMatchObject({ status: 400, code: 'bad_request' });
    expect(gateway.backend.requests).toEqual([]);
    raw.socket.destroy();
  });

  it('responses that a client does not read are reset after the idle time', async () => {
    gateway.answerWith((_request, response) => void response.end(Buffer.alloc(15_000)));
    const before = await metric('trailgate_connections_cut_total{reason="slow_reader"}');
    const raw = await connectRawHttp2(gateway.port, 0);
    for (let stream = 1; stream < 40; stream += 2) raw.send(frame(FRAME.headers, WHOLE, stream, head('GET', '/open')));
    raw.send(frame(FRAME.headers, WHOLE, 41, head('GET', '/nothing')));
    await eventually('all are reset', () => [1, 21, 39, 41].every((stream) => raw.answer(stream).reset));
    expect(gateway.backend.requests).toHaveLength(20);
    expect(await metric('trailgate_connections_cut_total{reason="slow_reader"}')).toBe(before + 21);
    // The connection stays open.
    expect(raw.frames.some(({ type }) => type === FRAME.goAway)).toBe(false);
    raw.socket.destroy();
  });

  describe('a client without a key that does not read error responses', () => {
    const headWithout = (more: readonly (readonly [string, string])[] = []): Buffer =>
      fieldBlock([
        [':method', 'GET'],
        [':scheme', 'https'],
        [':path', '/api/v1/open'],
        [':authority', 'a.example'],
        ...more,
      ]);
    const codeOf = (raw: RawHttp2, id: number): number | undefined =>
      raw.frames.find(({ type, stream }) => type === FRAME.reset && stream === id)?.payload.readUInt32BE();

    it('has its streams reset within seconds, and then its connection closed', async () => {
      const before = await metric('trailgate_connections_cut_total{reason="untaken_refusal"}');
      const raw = await connectRawHttp2(gateway.port, 0);
      for (let stream = 1; stream < 31; stream += 2) raw.send(frame(FRAME.headers, WHOLE, stream, headWithout()));
      await eventually('all are reset', () => [1, 15, 29].every((id) => codeOf(raw, id) === ENHANCE_YOUR_CALM), 4_000);
      expect(await metric('trailgate_connections_cut_total{reason="untaken_refusal"}')).toBe(before + 15);
      expect(raw.frames.some(({ type }) => type === FRAME.goAway)).toBe(false);
      raw.send(frame(FRAME.headers, WHOLE, 31, headWithout()));
      await once(raw.socket, 'close');
      const goAway = raw.frames.find(({ type }) => type === FRAME.goAway);
      expect(goAway?.payload.readUInt32BE(4)).toBe(ENHANCE_YOUR_CALM);
    });

    it('can have at most 256 KiB of headers pending, unlike one that reads the responses', async () => {
      const large = headWithout([['x-large', 'a'.repeat(14_000)]]);
      const raw = await connectRawHttp2(gateway.port, 0);
      for (let stream = 1; stream < 61; stream += 2) raw.send(frame(FRAME.headers, WHOLE, stream, large));
      await eventually('the last one is refused', () => codeOf(raw, 59) === REFUSED_STREAM);
      expect(codeOf(raw, 1)).not.toBe(REFUSED_STREAM);
      raw.socket.destroy();
      const reading = await connectRawHttp2(gateway.port);
      for (let stream = 1; stream < 121; stream += 2) {
        reading.send(frame(FRAME.headers, WHOLE, stream, large));
        await eventually('it is answered', () => reading.answer(stream).ended);
      }
      reading.socket.destroy();
    });
  });

  it.each([
    ['only reads its usage', '/usage'],
    ['has none of the scopes', '/customers'],
  ])('a key that %s allows its connection 100 pending requests with the largest headers', async (_what, path) => {
    const { key } = await gateway.trailgate.admin.newKey('unlimited', { scopes: ['files:read'] });
    const raw = await connectRawHttp2(gateway.port, 0);
    const fields = [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', 'a.example'],
    ] as const;
    const authorized = [...fields, [':path', `/api/v1${path}`], ['authorization', `Bearer ${key.secret}`]] as const;
    raw.send(frame(FRAME.headers, WHOLE, 1, fieldBlock(authorized)));
    await eventually('the key is accepted', () => raw.answer(1).begun);
    const large = fieldBlock([...fields, [':path', '/api/v1/open'], ['x-large', 'a'.repeat(15_000)]]);
    for (let stream = 3; stream < 200; stream += 2) raw.send(frame(FRAME.headers, WHOLE, stream, large));
    await eventually('the last one is refused for its key', () => raw.answer(199).begun);
    for (let stream = 3; stream < 200; stream += 2) expect([stream, raw.answer(stream).reset]).toEqual([stream, false]);
    raw.socket.destroy();
  });

  it.each([0, 2, 8])('an upload reset with code %i is aborted at the backend', async (code) => {
    const raw = await connectRawHttp2(gateway.port);
    raw.send(frame(FRAME.headers, END_HEADERS, 1, head('PUT', '/files/a')), frame(FRAME.data, 0, 1, 'half'));
    await eventually('the backend has half of it', () => gateway.backend.requests[0]?.bodyBytes === 4);
    const reason = Buffer.alloc(4);
    reason.writeUInt32BE(code);
    raw.send(frame(FRAME.reset, 0, 1, reason));
    await eventually('it is broken off there', () => gateway.backend.requests[0]?.aborted === true);
    expect(gateway.backend.requests[0]?.bodySha256).toBeUndefined();
    await eventually('the connection to the backend is free', async () => (await inFlight()) === 0);
    raw.socket.destroy();
  });

  it.each([0, 2, 8])(
    'a request reset with code %i before its response is aborted and logged with status 499',
    async (code) => {
      gateway.answerWith(() => undefined);
      const raw = await connectRawHttp2(gateway.port);
      const id = `reset-${code}`;
      raw.send(frame(FRAME.headers, WHOLE, 1, head('GET', '/open', [['x-request-id', id]])));
      await eventually('the backend has it', () => gateway.backend.requests.length === 1);
      const reason = Buffer.alloc(4);
      reason.writeUInt32BE(code);
      raw.send(frame(FRAME.reset, 0, 1, reason));
      await eventually('it is broken off there', () => gateway.backend.requests[0]?.aborted === true);
      const line = () => gateway.trailgate.logs().find(({ request_id }) => request_id === id);
      await eventually('it is logged', () => line() !== undefined);
      expect(line()).toMatchObject({ status: 499, quota: 'admitted' });
      raw.socket.destroy();
    },
  );

  it('a body with a wrong length does not reach the backend, and is no backend error', async () => {
    for (const [length, flags] of [
      ['100', 0],
      ['100', END_STREAM],
      ['2', END_STREAM],
      ['0', END_STREAM],
    ] as const) {
      const raw = await connectRawHttp2(gateway.port);
      raw.send(frame(FRAME.headers, END_HEADERS, 1, head('PUT', '/files/a', [['content-length', length]])));
      raw.send(frame(FRAME.data, flags, 1, 'half'));
      if (flags === 0) raw.send(frame(FRAME.reset, 0, 1, Buffer.alloc(4)));
      await eventually('it is over', async () => (await inFlight()) === 0);
      raw.socket.destroy();
    }
    expect(
      gateway.backend.requests.filter(({ bodySha256, bodyBytes }) => bodySha256 !== undefined && bodyBytes > 0),
    ).toEqual([]);
    const calls = 'trailgate_upstream_request_duration_seconds_count{service="backend",outcome=';
    expect(await metric(`${calls}"client_gone"}`)).toBeGreaterThan(0);
    expect(await metric(`${calls}"bad_response"}`)).toBe(0);
  });

  it.each(['2', '0', '100'])(
    'a four-byte body with content-length %s resets its stream, and no other request',
    async (length) => {
      let finish = (): void => {};
      gateway.answerWith((request, response) => {
        if (request.method === 'GET') finish = () => void response.end('{"ok":true}');
      });
      const raw = await connectRawHttp2(gateway.port);
      raw.send(frame(FRAME.headers, WHOLE, 1, head('GET', '/open')));
      await eventually('one is under way', () => gateway.backend.requests.length === 1);
      raw.send(frame(FRAME.headers, END_HEADERS, 3, head('PUT', '/files/a', [['content-length', length]])));
      raw.send(frame(FRAME.data, END_STREAM, 3, 'half'));
      await eventually('its stream is reset', () => raw.answer(3).reset);
      const reset = raw.frames.find(({ type, stream }) => type === FRAME.reset && stream === 3);
      expect(reset?.payload.readUInt32BE()).toBe(PROTOCOL_ERROR);
      // Longer than the gateway waits to find the cause.
      await sleep(300);
      finish();
      raw.send(frame(FRAME.headers, WHOLE, 5, head('GET', '/nothing')));
      await eventually('both are answered', () => raw.answer(1).ended && raw.answer(5).ended);
      expect(raw.answer(1).text).toBe('{"ok":true}');
      expect(raw.frames.some(({ type }) => type === FRAME.goAway)).toBe(false);
      raw.socket.destroy();
    },
  );

  it('a connection error closes the connection with GOAWAY', async () => {
    const raw = await connectRawHttp2(gateway.port);
    raw.send(frame(FRAME.headers, WHOLE, 1, head('GET', '/open')));
    await eventually('there is an answer', () => raw.answer(1).ended);
    // DATA on the stream that is the connection itself (RFC 9113 section 6.1).
    raw.send(frame(FRAME.data, 0, 0, 'x'));
    await once(raw.socket, 'close');
    const goAway = raw.frames.find(({ type }) => type === FRAME.goAway);
    expect(goAway?.payload.readUInt32BE(4)).toBe(PROTOCOL_ERROR);
  });
});

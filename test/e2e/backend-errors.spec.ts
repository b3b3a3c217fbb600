/** Backend errors as clients receive them, and the Proxy-Status header for operators. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startRawBackend } from '../support/backend.js';
import { startProxied, type Proxied } from '../support/proxied.js';

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly problem: { readonly detail?: string | null };
}

describe("a framework's error response", () => {
  let gateway: Proxied;

  beforeAll(async () => {
    gateway = await startProxied();
  });
  afterAll(() => gateway.stop());

  it.each(['rails', 'spring-boot', 'django-rest-framework', 'laravel', 'nestjs', 'fastapi'])(
    'of %s keeps its status and becomes a problem document with pointers to the fields',
    async (name) => {
      const { responses } = JSON.parse(readFileSync(`test/support/backend-errors/${name}.json`, 'utf8')) as {
        responses: Answer[];
      };
      for (const { status, contentType, body, problem } of responses) {
        gateway.answerWith((_request, response) => {
          response.writeHead(status, { 'content-type': contentType });
          response.end(body);
        });
        const answer = await gateway.send('/customers', { method: 'POST', body: {} });
        expect(answer.status).toBe(status);
        expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
        expect(answer.headers['proxy-status']).toBeUndefined();
        expect({ detail: null, ...answer.json<object>() }).toMatchObject({ status, ...problem });
        expect(answer.text).not.toMatch(/hunter2|App\\/);
      }
    },
  );
});

describe('Proxy-Status (RFC 9209), if enabled,', () => {
  const config = {
    gateway: { proxyStatus: true },
    services: { backend: { timeouts: { firstByte: '200ms' }, retries: { most: 0 } } },
  };

  it('reports a received error status or a timeout, and is absent on success', async () => {
    const gateway = await startProxied({ config });
    const host = new URL(gateway.backend.url).host;
    const statusFor = async (status: number): Promise<unknown> => {
      gateway.answerWith((_request, response) => response.writeHead(status).end());
      return (await gateway.send('/open')).headers['proxy-status'];
    };
    expect(await statusFor(507)).toBe(`trailgate; next-hop="${host}"; received-status=507`);
    expect(await statusFor(401)).toBe(`trailgate; next-hop="${host}"; received-status=401`);
    expect(await statusFor(200)).toBeUndefined();
    gateway.answerWith(() => undefined);
    expect((await gateway.send('/open')).headers['proxy-status']).toBe(
      `trailgate; error=http_response_timeout; next-hop="${host}"; details="TRAILGATE_FIRST_BYTE_TIMEOUT"`,
    );
    await gateway.stop();
  });

  it.each([
    ['http_protocol_error', (port: number) => `http://127.0.0.1:${port}`, /next-hop="127\.0\.0\.1:\d+"/],
    ['dns_error', () => 'http://nothing.invalid', /next-hop="nothing\.invalid"/],
    ['connection_refused', () => 'http://127.0.0.1:9', /next-hop="127\.0\.0\.1:9"; details="ECONNREFUSED"$/],
  ])('reports %s', async (type, target, more) => {
    const backend = await startRawBackend((socket) => socket.once('data', () => socket.end('nonsense\r\n\r\n')));
    const gateway = await startProxied({ targets: target(backend.port), config });
    const field = String((await gateway.send('/open')).headers['proxy-status']);
    expect(field).toMatch(new RegExp(`^trailgate; error=${type}; `));
    expect(field).toMatch(more);
    await gateway.stop();
    await backend.stop();
  });

  it('reports failed WebSocket handshakes with their next hop', async () => {
    const live = { match: 'GET /live/{room}', service: 'backend', scopes: [], websocket: true };
    const refusal = 'HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n';
    const answers: Record<string, string> = {
      refuse: refusal,
      plain: refusal.replace('409', '200'),
      junk: 'junk\r\n\r\n',
    };
    const backend = await startRawBackend((socket) => {
      socket.once('data', (data: Buffer) => {
        const room = /\/live\/(\w+)/.exec(data.toString())?.[1] ?? '';
        if (room === 'reset') socket.destroy();
        else if (room !== 'silent') socket.end(answers[room] ?? '');
      });
    });
    const gateway = await startProxied({ targets: backend.url, config: { ...config, operations: [live] } });
    const fields = [
      'Host: a',
      `Authorization: ${gateway.authorization}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ].join('\r\n');
    const statusOf = async (room: string): Promise<string | undefined> => {
      const text = await gateway.raw(`GET /api/v1/live/${room} HTTP/1.1\r\n${fields}\r\n\r\n`, 5_000);
      return /^proxy-status: (.*)\r$/im.exec(text)?.[1];
    };
    const hop = `next-hop="${new URL(backend.url).host}"`;
    expect(await statusOf('refuse')).toBe(`trailgate; ${hop}; received-status=409`);
    expect(await statusOf('plain')).toBe(`trailgate; ${hop}; received-status=200`);
    expect(await statusOf('reset')).toBe(`trailgate; error=connection_terminated; ${hop}; details="ECONNRESET"`);
    expect(await statusOf('silent')).toBe(
      `trailgate; error=http_response_timeout; ${hop}; details="TRAILGATE_FIRST_BYTE_TIMEOUT"`,
    );
    expect(await statusOf('junk')).toMatch(`trailgate; error=http_protocol_error; ${hop}; details="HPE_`);
    await backend.stop();
    expect(await statusOf('gone')).toBe(`trailgate; error=connection_refused; ${hop}; details="ECONNREFUSED"`);
    await gateway.stop();
  });
});

/**
 * A TLS service with several targets. The gateway verifies each target by its own name, at each of its addresses. A
 * target with a wrong certificate counts as failed. It gets no request, clients see no error, and it returns once its
 * certificate is fixed.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { WebSocket } from 'undici';
import { makeAuthority, type Authority } from '../support/certificates.js';
import { send } from '../support/http.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import type { Json } from '../support/program-config.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { describeWithOpenssl } from '../support/describe-with.js';

const REST_MS = 600;
const FAILURES = 3;
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'one.test': ['127.0.0.2'],
  'two.test': ['127.0.0.3', '127.0.0.4'],
  'wrong.test': ['127.0.0.5'],
  'dead.test': ['127.0.0.6'],
};

/** Handshakes and requests that arrived at an address. */
interface Seen {
  /** Server names (SNI) of the handshakes. `false` means that none was sent. */
  readonly names: (string | false)[];
  readonly hosts: string[];
  requests: number;
}

interface TargetState {
  readonly target: string;
  readonly address: string | null;
  readonly state: string;
  readonly last_failure: { readonly outcome: string } | null;
}

describeWithOpenssl('a service with several TLS targets', () => {
  let folder: string;
  let authority: Authority;
  let gateway: Proxied;
  let port: number;
  const servers = new Map<string, Server>();
  const seen = new Map<string, Seen>();

  const files = (name: string): { cert: Buffer; key: Buffer } => ({
    cert: readFileSync(`${folder}/${name}.crt`),
    key: readFileSync(`${folder}/${name}.key`),
  });
  const at = (address: string): Seen => seen.get(address) ?? { names: [], hosts: [], requests: 0 };

  async function listen(address: string, certificate: string): Promise<void> {
    const record: Seen = { names: [], hosts: [], requests: 0 };
    seen.set(address, record);
    const SNICallback = (name: string, done: (error: null) => void): void => {
      record.names.push(name);
      done(null);
    };
    const server = createServer({ ...files(certificate), SNICallback }, (request, response) => {
      record.requests += 1;
      record.hosts.push(request.headers.host ?? '');
      response.end(address);
    });
    server.on('connection', (socket: Socket) => socket.on('error', () => undefined));
    server.on('tlsClientError', () => undefined);
    server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
      record.requests += 1;
      record.hosts.push(request.headers.host ?? '');
      const text = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(text).digest('base64');
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
    });
    server.listen(port, address);
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
    servers.set(address, server);
  }

  async function start(hosts: readonly string[], tls: Json = {}, more: Json = {}): Promise<void> {
    gateway = await startProxied({
      targets: hosts.map((host) => `https://${host}:${port}`),
      names: NAMES,
      config: {
        services: {
          backend: {
            tls: { ca: authority.cert, ...tls },
            ejection: { failures: FAILURES, duration: `${REST_MS}ms`, longest: `${REST_MS}ms` },
            retries: { budget: 1 },
            ...more,
          },
        },
        operations: [{ match: 'GET /live', service: 'backend', scopes: [], websocket: true }],
      },
    });
  }

  const states = async (): Promise<TargetState[]> => {
    const headers = { authorization: `Bearer ${gateway.trailgate.adminToken}` };
    const answer = await send(`${gateway.trailgate.adminUrl}/admin/v1/targets`, { headers });
    return answer.json<{ data: TargetState[] }>().data;
  };
  const stateOf = async (address: string): Promise<TargetState | undefined> =>
    (await states()).find((each) => each.address === address || each.target === `https://${address}:${port}`);

  /** Sends requests that must all succeed, and returns the addresses that responded. */
  async function answeredBy(count: number, method = 'GET'): Promise<Set<string>> {
    const by = new Set<string>();
    for (let index = 0; index < count; index++) {
      const { status, text } = await gateway.send('/customers', { method });
      expect([status, text]).toEqual([200, expect.stringMatching(/^127/)]);
      by.add(text);
    }
    return by;
  }

  beforeAll(() => {
    folder = temporaryFolder('backend-tls-targets');
    authority = makeAuthority(folder);
    for (const name of ['one.test', 'two.test', 'wrong.test', 'service.internal', '127.0.0.7', '127.0.0.8']) {
      authority.issue(name, name);
    }
  });
  beforeEach(() => {
    port = 0;
    seen.clear();
  });
  afterEach(async () => {
    await gateway.stop();
    for (const server of servers.values()) {
      server.closeAllConnections();
      server.close();
    }
    servers.clear();
  });

  /**
   * Starts two valid targets, and one at 127.0.0.5 with the certificate of another. Nothing listens for `dead.test`.
   */
  async function startAll(): Promise<void> {
    await listen('127.0.0.2', 'one.test');
    await listen('127.0.0.3', 'two.test');
    await listen('127.0.0.4', 'two.test');
    await listen('127.0.0.5', 'one.test');
    await start(Object.keys(NAMES));
    await eventually('the names are resolved', async () => (await states()).every(({ address }) => address !== null));
  }

  it.each(['GET', 'POST'])(
    'serves every %s by name although one target has a wrong certificate and one is down',
    async (method) => {
      await startAll();
      expect(await answeredBy(60, method)).toEqual(new Set(['127.0.0.2', '127.0.0.3', '127.0.0.4']));
      const served = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].map((address) => at(address).requests);
      expect(served.reduce((sum, count) => sum + count, 0)).toBe(60);
      for (const [name, addresses] of Object.entries(NAMES)) {
        for (const address of addresses) {
          expect(new Set(at(address).hosts)).toEqual(new Set(at(address).requests > 0 ? [`${name}:${port}`] : []));
          expect(new Set(at(address).names)).toEqual(new Set(name === 'dead.test' ? [] : [name]));
        }
      }
      expect(at('127.0.0.5').requests).toBe(0);
      for (const address of ['127.0.0.5', '127.0.0.6']) {
        expect(await stateOf(address)).toMatchObject({ state: 'ejected', last_failure: { outcome: 'unreachable' } });
      }
      const lost = () =>
        gateway.trailgate.logs().flatMap(({ event, address }) => (event === 'target_lost' ? [address] : []));
      await eventually('two lost targets are logged', () => lost().length >= 2);
      expect(new Set(lost())).toEqual(new Set(['127.0.0.5', '127.0.0.6']));
    },
  );

  it('ejects a single address with a wrong certificate, and restores it once that is fixed', async () => {
    await listen('127.0.0.3', 'two.test');
    await listen('127.0.0.4', 'one.test');
    await start(['two.test']);
    await eventually('both addresses are listed', async () => (await states()).length === 2);
    expect(await answeredBy(40)).toEqual(new Set(['127.0.0.3']));
    expect([(await stateOf('127.0.0.3'))?.state, (await stateOf('127.0.0.4'))?.state]).toEqual(['healthy', 'ejected']);
    servers.get('127.0.0.4')?.setSecureContext(files('two.test'));
    await eventually('the restored address responds', async () => {
      await answeredBy(5);
      return (await stateOf('127.0.0.4'))?.state === 'healthy';
    });
    expect(await answeredBy(40)).toEqual(new Set(['127.0.0.3', '127.0.0.4']));
  });

  it('answers 502 and later 503 if no target has a valid certificate, and sends them no request', async () => {
    await listen('127.0.0.5', 'one.test');
    await start(['wrong.test', 'dead.test']);
    const code = async (): Promise<unknown> => (await gateway.send('/customers')).json()['code'];
    expect(await code()).toBe('backend_unreachable');
    // Simultaneous failures do not eject the last target, so the test repeats requests.
    await eventually('both targets are ejected', async () => (await code()) === 'backend_unavailable');
    expect(at('127.0.0.5').requests).toBe(0);
  });

  it('sends the configured serverName to every target, and verifies each by it', async () => {
    await listen('127.0.0.2', 'service.internal');
    await listen('127.0.0.3', 'service.internal');
    await listen('127.0.0.4', 'two.test');
    await start(['one.test', 'two.test'], { serverName: 'service.internal' });
    await eventually('the names are resolved', async () => (await states()).every(({ address }) => address !== null));
    expect(await answeredBy(40)).toEqual(new Set(['127.0.0.2', '127.0.0.3']));
    const names = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].flatMap((address) => at(address).names);
    expect(new Set(names)).toEqual(new Set(['service.internal']));
    expect(new Set(at('127.0.0.2').hosts)).toEqual(new Set([`one.test:${port}`]));
  });

  it('verifies an IP address target by its address, without a server name', async () => {
    await listen('127.0.0.7', '127.0.0.7');
    await listen('127.0.0.8', '127.0.0.7');
    await start(['127.0.0.7', '127.0.0.8']);
    expect(await answeredBy(30)).toEqual(new Set(['127.0.0.7']));
    expect([at('127.0.0.7').names, at('127.0.0.8').names, at('127.0.0.8').requests]).toEqual([[], [], 0]);
    expect((await stateOf('127.0.0.8'))?.state).toBe('ejected');
  });

  it('detects a wrong certificate by health checks, before a request is sent to that target', async () => {
    await listen('127.0.0.2', 'one.test');
    await listen('127.0.0.5', 'one.test');
    await start(['one.test', 'wrong.test'], {}, { health: { path: '/', interval: '100ms', unhealthyAfter: 2 } });
    await eventually('the target is unhealthy', async () => (await stateOf('127.0.0.5'))?.state === 'unhealthy');
    expect((await stateOf('127.0.0.2'))?.state).toBe('healthy');
    expect(await answeredBy(20)).toEqual(new Set(['127.0.0.2']));
    expect(at('127.0.0.5').requests).toBe(0);
    servers.get('127.0.0.5')?.setSecureContext(files('wrong.test'));
    await eventually('the target is healthy again', async () => (await stateOf('127.0.0.5'))?.state === 'healthy');
  });

  it('opens WebSockets only to targets with a valid certificate, under their own names', async () => {
    await startAll();
    const url = `${gateway.trailgate.gatewayUrl.replace('http', 'ws')}/api/v1/live`;
    const outcomes: string[] = [];
    for (let index = 0; index < 40; index++) {
      const socket = new WebSocket(url, { headers: { authorization: gateway.authorization } });
      outcomes.push(
        await new Promise<string>((done) => {
          socket.addEventListener('open', () => done('open'));
          socket.addEventListener('error', () => done('refused'));
        }),
      );
    }
    // Handshakes are not retried, so some fail until the bad targets are ejected.
    expect(outcomes.filter((outcome) => outcome === 'refused').length).toBeLessThanOrEqual(2 * (FAILURES + 2));
    expect(outcomes.slice(-10)).toContain('open');
    expect(at('127.0.0.5').requests).toBe(0);
    expect(at('127.0.0.2').requests).toBeGreaterThan(0);
    expect(new Set(at('127.0.0.2').hosts)).toEqual(new Set([`one.test:${port}`]));
    expect(new Set([...at('127.0.0.3').names, ...at('127.0.0.4').names])).toEqual(new Set(['two.test']));
  });
});

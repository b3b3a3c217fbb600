/** Backends over TLS are verified by the configured authorities, and get a client certificate if they request one. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { WebSocket } from 'undici';
import { makeAuthority, type Authority } from '../support/certificates.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { runTrailgate } from '../support/program.js';
import { writeConfig, type Json } from '../support/program-config.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { describeWithOpenssl } from '../support/describe-with.js';

describeWithOpenssl('a backend over TLS', () => {
  let folder: string;
  let authority: Authority;
  let server: Server;
  let proxied: Proxied | undefined;
  /** Common names of the client certificates that the current server received. */
  let peers: (string | undefined)[] = [];

  async function listen(options: ServerOptions): Promise<string> {
    // Keeps a list per server, because a handshake with the previous server can end after its test.
    const own: typeof peers = [];
    peers = own;
    server = createServer(options, (request, response) => {
      own.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString());
      response.end('{"ok":true}');
    });
    server.on('tlsClientError', () => undefined);
    server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
      own.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString());
      const text = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(text).digest('base64');
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `https://localhost:${(server.address() as AddressInfo).port}`;
  }

  async function start(targets: string, tls: Json | undefined): Promise<Proxied> {
    const service = {
      ...(tls === undefined ? {} : { tls }),
      health: { path: '/', interval: '200ms', unhealthyAfter: 100 },
    };
    const operations = [{ match: 'GET /live', service: 'backend', scopes: [], websocket: true }];
    proxied = await startProxied({ targets, config: { services: { backend: service }, operations } });
    return proxied;
  }

  const files = (name: string): { cert: Buffer; key: Buffer } => ({
    cert: readFileSync(`${folder}/${name}.crt`),
    key: readFileSync(`${folder}/${name}.key`),
  });

  beforeAll(() => {
    folder = temporaryFolder('backend-tls');
    authority = makeAuthority(folder);
    authority.issue('server');
    authority.issue('elsewhere', 'backend.internal');
    authority.issue('gateway', 'gateway.internal');
    makeAuthority(folder, 'other').issue('stranger', 'gateway.internal');
  });
  afterEach(async () => {
    await proxied?.stop();
    proxied = undefined;
    server.closeAllConnections();
    server.close();
  });

  it('is verified by the configured authority', async () => {
    const { send } = await start(await listen(files('server')), { ca: authority.cert });
    expect((await send('/open')).status).toBe(200);
  });

  it.each<[string, string, () => Json | undefined]>([
    ["is not in the system's authorities", 'server', () => undefined],
    ['is from another authority', 'server', () => ({ ca: `${folder}/other.crt` })],
    ['is for another name', 'elsewhere', () => ({ ca: authority.cert })],
    [
      'is not for the name that is configured',
      'server',
      () => ({ ca: authority.cert, serverName: 'backend.internal' }),
    ],
  ])('gets no request if its certificate %s, and the client gets a 502', async (_what, name, tls) => {
    const { send } = await start(await listen(files(name)), tls());
    const answer = await send('/open');
    expect(answer.json()).toMatchObject({ status: 502, code: 'backend_unreachable' });
    expect(answer.text).not.toMatch(/certificate|localhost:\d+\/open/i);
    expect(peers).toEqual([]);
  });

  it('is verified by the configured serverName instead of its host name', async () => {
    const { send } = await start(await listen(files('elsewhere')), {
      ca: authority.cert,
      serverName: 'backend.internal',
    });
    expect((await send('/open')).status).toBe(200);
  });

  it('gets the client certificate with requests, health checks and WebSockets if it requests one', async () => {
    const asking = { ...files('server'), ca: readFileSync(authority.cert), requestCert: true };
    const tls = { ca: authority.cert, cert: `${folder}/gateway.crt`, key: `${folder}/gateway.key` };
    const { send, trailgate, authorization } = await start(await listen(asking), tls);
    expect((await send('/open')).status).toBe(200);
    await eventually('a health check arrives', () => peers.length > 1);
    const socket = new WebSocket(`${trailgate.gatewayUrl.replace('http', 'ws')}/api/v1/live`, {
      headers: { authorization },
    });
    let opened = false;
    socket.addEventListener('open', () => (opened = true));
    await eventually('the WebSocket is open', () => opened);
    expect(new Set(peers)).toEqual(new Set(['gateway']));
  });

  it.each([
    ['nothing', undefined],
    ['the certificate of a stranger', 'stranger'],
  ])('that requires a client certificate and gets %s causes a 502', async (_what, name) => {
    const asking = {
      ...files('server'),
      ca: readFileSync(authority.cert),
      requestCert: true,
      rejectUnauthorized: true,
    };
    const shown = name === undefined ? {} : { cert: `${folder}/${name}.crt`, key: `${folder}/${name}.key` };
    const { send } = await start(await listen(asking), { ca: authority.cert, ...shown });
    expect((await send('/open')).json()).toMatchObject({ status: 502 });
    expect(peers).toEqual([]);
  });

  it('is verified by a changed authority file, and an invalid file is reported', async () => {
    const ca = `${folder}/changing.crt`;
    copyFileSync(`${folder}/other.crt`, ca);
    const { send, trailgate } = await start(await listen(files('server')), { ca });
    expect((await send('/open')).status).toBe(502);
    writeFileSync(ca, 'no certificate');
    const events = (): unknown[] => trailgate.logs().map(({ event }) => event);
    await eventually('backend_tls_refused is logged', () => events().includes('backend_tls_refused'));
    expect(trailgate.logs().find(({ event }) => event === 'backend_tls_refused')).toMatchObject({
      service: 'backend',
      files: [ca],
      problems: expect.stringMatching(
        /changing\.crt: the file of authorities cannot be used: it is no certificate\n  → ./,
      ),
    });
    copyFileSync(authority.cert, ca);
    await eventually('backend_tls_changed is logged', () => events().includes('backend_tls_changed'));
    expect((await send('/open')).status).toBe(200);
  });

  it('has TLS files that `trailgate check` rejects if they are missing, invalid or incomplete', async () => {
    const config = (tls: Json): string =>
      writeConfig(temporaryFolder('check'), {
        targets: ['https://localhost:1'],
        config: { services: { backend: { tls } } },
      });
    const missing = await runTrailgate(['check', '--config', config({ ca: 'nothing.crt' })]);
    expect(missing.code).toBe(1);
    expect(missing.stdout + missing.stderr).toContain('the file of authorities nothing.crt cannot be read');
    writeFileSync(`${folder}/junk.crt`, 'no certificate');
    const junk = await runTrailgate(['check', '--config', config({ ca: `${folder}/junk.crt` })]);
    expect(junk.stdout + junk.stderr).toContain('services.backend.tls.ca: the file of authorities cannot be used');
    const half = await runTrailgate(['check', '--config', config({ cert: authority.cert })]);
    expect(half.stdout + half.stderr).toContain('cert and key belong together');
  });
});

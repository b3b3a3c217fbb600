/** TLS of the public listener: cipher suites that HTTP/2 allows in a fixed order, no renegotiation, and HSTS. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { temporaryFolder } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const HSTS = 'max-age=31536000; includeSubDomains';

describeWithOpenssl('over TLS', () => {
  let gateway: Proxied;
  beforeAll(async () => {
    const { cert, key } = makeCertificate(temporaryFolder('tls-policy'));
    gateway = await startProxied({
      config: { gateway: { tls: { cert, key }, hsts: { maxAge: '365d', includeSubDomains: true } } },
    });
  });
  afterAll(() => gateway?.stop());

  async function handshake(options: ConnectionOptions): Promise<string> {
    const socket: TLSSocket = connect({
      port: gateway.port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ...options,
    });
    await once(socket, 'secureConnect');
    const { standardName } = socket.getCipher();
    socket.destroy();
    return standardName;
  }

  // Cipher suites that RFC 9113 forbids (section 9.2.2 and appendix A).
  it.each([
    'AES128-GCM-SHA256',
    'AES256-SHA',
    'ECDHE-ECDSA-AES128-SHA',
    'ECDHE-ECDSA-AES256-SHA384',
    'ECDHE-RSA-AES128-SHA256',
  ])('TLS 1.2 with %s, which HTTP/2 forbids, is refused', async (ciphers) => {
    await expect(handshake({ ciphers: `${ciphers}:@SECLEVEL=0`, maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert/);
  });

  it('the gateway chooses the cipher suite, whatever the client prefers', async () => {
    const both = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256'];
    for (const ciphers of [both, both.toReversed()]) {
      const suite = await handshake({ ciphers: ciphers.join(':'), maxVersion: 'TLSv1.2' });
      expect(suite).toBe('TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256');
    }
    expect(await handshake({ minVersion: 'TLSv1.3' })).toBe('TLS_AES_128_GCM_SHA256');
  });

  it('renegotiation is refused', () => {
    const client = ['s_client', '-connect', `127.0.0.1:${gateway.port}`, '-tls1_2', '-legacy_renegotiation'];
    const { stdout, stderr } = spawnSync('openssl', client, { input: 'R\n', encoding: 'utf8', timeout: 20_000 });
    expect(stdout + stderr).toMatch(/no renegotiation|unexpected (message|eof)/);
  });

  it('every response has Strict-Transport-Security, also errors, pages and that to an unreadable request', async () => {
    const fields = async (path: string): Promise<unknown> => {
      const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { rejectUnauthorized: false });
      const request = session.request({ ':path': path, authorization: gateway.authorization });
      const [headers] = (await once(request, 'response')) as [Record<string, unknown>];
      session.destroy();
      return headers['strict-transport-security'];
    };
    for (const path of ['/api/v1/open', '/api/v1/nothing', '/docs', '/api/v1/openapi.json', '/api/v1/usage'])
      expect([path, await fields(path)]).toEqual([path, HSTS]);
    const unreadable = connect({ port: gateway.port, host: '127.0.0.1', rejectUnauthorized: false }).setEncoding(
      'latin1',
    );
    unreadable.write('GET / HTTP/1.1\r\nbad field\r\n\r\n');
    let text = '';
    for await (const part of unreadable) text += part;
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain(`\r\nStrict-Transport-Security: ${HSTS}\r\n`);
  });
});

/** The public listener with its own TLS certificate. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { describeWithOpenssl } from '../support/describe-with.js';

describeWithOpenssl('the public listener with a certificate', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let folder: string;
  let secret: string;

  beforeAll(async () => {
    folder = temporaryFolder('tls');
    makeCertificate(folder);
    backend = await startBackend(json({ data: [] }));
    trailgate = await startTrailgate({
      backend: backend.url,
      config: { gateway: { tls: { cert: `${folder}/tls.crt`, key: `${folder}/tls.key` } } },
    });
    ({ secret } = (await trailgate.admin.newKey('starter', { scopes: ['customers:read'] })).key);
  });

  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('answers over TLS and reports https to the backend in X-Forwarded-Proto and Forwarded', async () => {
    const status = await new Promise((resolve, reject) => {
      const url = `${trailgate.gatewayUrl}/api/v1/customers`;
      const options = { ca: readFileSync(`${folder}/tls.crt`), headers: { authorization: `Bearer ${secret}` } };
      request(url, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
    const received = backend.requests.at(-1);
    expect(received?.headers['x-forwarded-proto']).toBe('https');
    expect(received?.headers['forwarded']).toContain('proto=https');
  });

  it('refuses a request without Host with a 400 problem document', async () => {
    const socket = connect({ port: Number(new URL(trailgate.gatewayUrl).port), rejectUnauthorized: false });
    socket.setEncoding('utf8').write('GET /api/v1/customers HTTP/1.1\r\n\r\n');
    let answer = '';
    for await (const text of socket) answer += text;
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('application/problem+json');
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('accepts TLS 1.2 and 1.3, and refuses TLS 1.1', async () => {
    const port = Number(new URL(trailgate.gatewayUrl).port);
    const protocolOf = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') =>
      new Promise((resolve) => {
        const socket = connect({
          port,
          host: '127.0.0.1',
          minVersion: version,
          maxVersion: version,
          rejectUnauthorized: false,
          ciphers: 'DEFAULT@SECLEVEL=0',
        });
        socket.once('secureConnect', () => {
          resolve(socket.getProtocol());
          socket.destroy();
        });
        socket.once('error', () => resolve('refused'));
      });
    expect(await protocolOf('TLSv1.3')).toBe('TLSv1.3');
    expect(await protocolOf('TLSv1.2')).toBe('TLSv1.2');
    expect(await protocolOf('TLSv1.1')).toBe('refused');
  });
});

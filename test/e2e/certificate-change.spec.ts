/** The program loads a new certificate while it runs. New connections get it, and current requests are not affected. */
import { copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { makeCertificate, type CertificateFiles } from '../support/certificates.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { describeWithOpenssl } from '../support/describe-with.js';

describeWithOpenssl('a changed certificate', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let folder: string;
  let files: CertificateFiles;
  let secret: string;

  const port = (): number => Number(new URL(trailgate.gatewayUrl).port);
  /** Returns the fingerprint of the certificate that a new connection gets. */
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket: TLSSocket = connect({ port: port(), host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const ask = (agent: Agent): Promise<number> =>
    new Promise((resolve) => {
      const headers = { authorization: `Bearer ${secret}` };
      const request = get(
        `${trailgate.gatewayUrl}/api/v1/customers`,
        { agent, headers, rejectUnauthorized: false },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', () => resolve(-1));
        },
      );
      request.on('error', () => resolve(-1));
    });
  /** Replaces the certificate and key files, each atomically. */
  const replace = (): string => {
    const made = makeCertificate(folder, 'next');
    const fingerprint = made.fingerprint();
    renameSync(made.cert, files.cert);
    renameSync(made.key, files.key);
    return fingerprint;
  };

  beforeAll(async () => {
    folder = temporaryFolder('certificate');
    files = makeCertificate(folder);
    backend = await startBackend(json({ data: [] }));
    trailgate = await startTrailgate({
      backend: backend.url,
      config: { gateway: { tls: { cert: files.cert, key: files.key } } },
    });
    ({ secret } = (await trailgate.admin.newKey('unlimited', { scopes: ['customers:read'] })).key);
  });

  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('is used for new connections within three seconds, and no request under load fails', async () => {
    const kept = new Agent({ keepAlive: true, maxSockets: 4 });
    const fresh = new Agent({ keepAlive: false });
    let going = true;
    const statuses: number[] = [];
    const load = Promise.all(
      [kept, kept, kept, fresh, fresh].map(async (agent) => {
        while (going) statuses.push(await ask(agent));
      }),
    );
    const before = await shown();
    const after = replace();
    expect(after).not.toBe(before);
    await eventually('new connections get the new certificate', async () => (await shown()) === after, 3_000);
    await sleep(200);
    await eventually('there is load', () => statuses.length > 100);
    going = false;
    await load;
    kept.destroy();
    expect(statuses.length).toBeGreaterThan(100);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });

  it('is refused if its files are invalid, with the file and reason in the log, and the old one stays', async () => {
    const before = await shown();
    const refusals = () => trailgate.logs().filter(({ event }) => event === 'certificate_refused');
    const refused = async (change: () => void): Promise<Record<string, unknown> | undefined> => {
      const seen = refusals().length;
      change();
      await eventually('the refusal is logged', () => refusals().length > seen);
      return refusals().at(-1);
    };
    expect(await refused(() => writeFileSync(files.cert, 'not a certificate'))).toMatchObject({
      files: [files.cert],
      problems: `${files.cert}: the certificate cannot be used: it is no certificate\n  → the file must be PEM and begin with -----BEGIN CERTIFICATE-----`,
    });
    const other = makeCertificate(folder, 'other');
    expect(await refused(() => copyFileSync(other.cert, files.cert))).toMatchObject({
      files: [files.key],
      problems: expect.stringMatching(/tls\.key: the private key does not belong to the certificate\n  → ./),
    });
    expect(await refused(() => rmSync(files.key))).toMatchObject({
      files: [files.key],
      problems: expect.stringMatching(/tls\.key: the private key cannot be read: there is no such file\n  → ./),
    });
    expect(await shown()).toBe(before);
    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/trailgate_certificate_reloads_total\{listener="gateway",result="refused"\} [3-9]/);
    const after = replace();
    await eventually('a valid pair is used again', async () => (await shown()) === after);
  });
});

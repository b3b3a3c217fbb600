/** The certificate of a listener, whose files may change at any moment. */
import { expect, it } from '@jest/globals';
import { renameSync } from 'node:fs';
import type { Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { pino } from 'pino';
import { makeAuthority } from '../../../test/support/certificates.js';
import { describeWithOpenssl } from '../../../test/support/describe-with.js';
import { eventually, temporaryFolder } from '../../../test/support/processes.js';
import { ListenerCertificate } from './listener-certificate.js';

describeWithOpenssl('ListenerCertificate', () => {
  it('applies files that were replaced between reading and watching', async () => {
    const authority = makeAuthority(temporaryFolder('certificate'));
    const [files, next] = [authority.issue('first'), authority.issue('next')];
    const certificate = new ListenerCertificate('gateway', files, '/', pino({ level: 'silent' }));
    const before = await certificate.read();
    renameSync(next.cert, files.cert);
    renameSync(next.key, files.key);
    const contexts: SecureContextOptions[] = [];
    const server = { setSecureContext: (given: SecureContextOptions) => contexts.push(given) } as unknown as Server;
    const stop = certificate.watchServer(server);
    try {
      await eventually('it is taken', () => contexts.length === 1);
      expect(String(contexts[0]?.cert)).not.toBe(String(before.cert));
    } finally {
      stop();
    }
  });
});

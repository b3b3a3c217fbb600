/** Certificates that have expired or are not valid yet cause warnings, and the gateway starts with them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasOpenssl, makeCertificate } from '../../../test/support/certificates.js';
import { checkFiles } from './file-checks.js';
import { SourceDocument } from '../source/source-document.js';
import { GATEWAY_BOUNDS } from '../source/yaml-parse.js';

const DAY_MS = 86_400_000;

(hasOpenssl ? describe : describe.skip)('the validity period of a certificate', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'trailgate-tls-'));
    makeCertificate(folder);
    const text = 'gateway: { tls: { cert: tls.crt, key: tls.key } }\nservices: { a: { tls: { ca: tls.crt } } }\n';
    writeFileSync(join(folder, 'gateway.yaml'), text);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['is over', 10 * DAY_MS, /^the (certificate|file of authorities) expired on /],
    ['has not come', -10 * DAY_MS, /^the (certificate|file of authorities) is not valid before /],
  ])('that %s causes a warning at its setting', async (_, laterMs, message) => {
    const { source } = await SourceDocument.read(join(folder, 'gateway.yaml'), GATEWAY_BOUNDS);
    if (source === undefined) throw new Error('gateway.yaml cannot be read');
    const found = await checkFiles(source, source.toJS(), { now: () => Date.now() + laterMs });
    expect(found.problems).toEqual([]);
    expect(found.warnings).toMatchObject([
      { line: 1, path: 'gateway.tls.cert', message: expect.stringMatching(message), hint: expect.any(String) },
      { line: 2, path: 'services.a.tls.ca', message: expect.stringMatching(message) },
    ]);
  });

  it('that is current causes no warning', async () => {
    const { source } = await SourceDocument.read(join(folder, 'gateway.yaml'), GATEWAY_BOUNDS);
    const now = { now: () => Date.now() + 60_000 };
    expect(await checkFiles(source as SourceDocument, source?.toJS(), now)).toEqual({ problems: [], warnings: [] });
  });
});

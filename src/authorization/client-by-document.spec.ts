/** `client_id_metadata_document_supported`: a client that nobody has registered is known by the document at its id. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { makeCertificate } from '../../test/support/certificates.js';
import { describeWithOpenssl } from '../../test/support/describe-with.js';
import { OAuthDoor } from '../../test/support/oauth-door.js';
import { Browser, newVerifier, REDIRECT } from '../../test/support/oauth-steps.js';
import { outboundRules } from '../outbound/destination.js';
import { ClientDocuments } from './client-documents.js';

describeWithOpenssl('a client whose id is the URL of its document', () => {
  it('is let in, as far as its tokens; one whose document is of another is not', async () => {
    const files = makeCertificate(mkdtempSync(join(tmpdir(), 'trailgate-documents-')));
    const [cert, key] = [readFileSync(files.cert), readFileSync(files.key)];
    // At every address the document of the same client.
    const site = createServer({ cert, key }, (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ client_id: id, client_name: 'Trip planner', redirect_uris: [REDIRECT] }));
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const origin = `https://localhost:${(site.address() as AddressInfo).port}`;
    const id = `${origin}/client.json`;
    const local = {
      rules: outboundRules({ allowHttp: false, allowPrivateNetworks: ['127.0.0.1/32'] }),
      resolve: () => Promise.resolve(['127.0.0.1']),
      tls: { ca: cert },
    };
    const door = await OAuthDoor.start((objects, clock) => new ClientDocuments(objects, clock, local));
    try {
      const { verifier, challenge } = newVerifier();
      const browser = new Browser();
      const request = String(await door.ask(browser, door.authorizeUrl(id, challenge)));
      expect(await door.requests.get(request)).toMatchObject({ clientId: id, clientHost: new URL(id).host });
      const account = await door.newAccount();
      const back = (await door.comeBack(browser, await door.approve(request, account))) as URLSearchParams;
      const { status, body } = await door.token(door.exchange(id, back.get('code') ?? '', verifier));
      expect([status, body.scope]).toEqual([200, 'customers:read']);
      expect((await door.token(door.refresh(id, body.refresh_token))).status).toBe(200);
      expect((await door.keysOf(account))[0]).toMatchObject({ oauthClient: { id, name: 'Trip planner' } });
      const other = await door.ask(new Browser(), door.authorizeUrl(`${origin}/other.json`, challenge));
      expect((other as Response).status).toBe(400);
    } finally {
      await door.stop();
      site.closeAllConnections();
      site.close();
    }
  });
});

/** Clients identified by the metadata document at their client ID (`client_id_metadata_document_supported`). */
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { localCertificate } from '../../test/support/certificates.js';
import { describeWithOpenssl } from '../../test/support/describe-with.js';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { Browser, newVerifier, REDIRECT } from '../../test/support/oauth-steps.js';
import { outboundRules } from '../http/outbound/destination.js';
import { ClientDocuments } from './client-documents.js';

describeWithOpenssl('a client whose ID is the URL of its metadata document', () => {
  let site: Server;
  let origin: string;
  let id: string;
  let oauth: OAuthServerWorld;
  beforeEach(async () => {
    const { cert, key } = localCertificate();
    // Serves the document of the same client at every path.
    site = createServer({ cert, key }, (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ client_id: id, client_name: 'Trip planner', redirect_uris: [REDIRECT] }));
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    origin = `https://localhost:${(site.address() as AddressInfo).port}`;
    id = `${origin}/client.json`;
    const local = {
      rules: outboundRules({ allowHttp: false, allowPrivateNetworks: ['127.0.0.1/32'] }),
      resolve: () => Promise.resolve(['127.0.0.1']),
      tls: { ca: cert },
    };
    oauth = await OAuthServerWorld.start((objects, clock) => new ClientDocuments(objects, clock, local));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await oauth?.stop();
    site?.closeAllConnections();
    site?.close();
  });

  /** Authorizes the client and returns its tokens. */
  const authorize = async (account: string) => {
    const { verifier, challenge } = newVerifier();
    const browser = new Browser();
    const request = String(await oauth.ask(browser, oauth.authorizeUrl(id, challenge)));
    expect(await oauth.requests.get(request)).toMatchObject({ clientId: id, clientHost: new URL(id).host });
    const back = (await oauth.comeBack(browser, await oauth.approve(request, account))) as URLSearchParams;
    return oauth.token(oauth.exchange(id, back.get('code') ?? '', verifier));
  };

  it('is authorized and gets tokens, unless the document names another client ID', async () => {
    const account = await oauth.newAccount();
    const { status, body } = await authorize(account);
    expect([status, body.scope]).toEqual([200, 'customers:read']);
    expect((await oauth.token(oauth.refresh(id, body.refresh_token))).status).toBe(200);
    expect((await oauth.keysOf(account))[0]).toMatchObject({ oauthClient: { id, name: 'Trip planner' } });
    const other = await oauth.ask(new Browser(), oauth.authorizeUrl(`${origin}/other.json`, newVerifier().challenge));
    expect((other as Response).status).toBe(400);
  });

  it('can refresh its tokens after its network has used up the limit for document fetches', async () => {
    const { body } = await authorize(await oauth.newAccount());
    // The library caches a document for at most an hour by this clock.
    const later = Date.now() + 3_601_000;
    jest.spyOn(Date, 'now').mockImplementation(() => later);
    const headers = { 'x-forwarded-for': '203.0.113.77', connection: 'close' };
    let page = '';
    for (let nth = 0; nth < 11; nth += 1) {
      const url = oauth.authorizeUrl(`${origin}/none-${nth}.json`, newVerifier().challenge);
      page = await (await fetch(url, { headers, redirect: 'manual' })).text();
    }
    expect(page).toContain('fetch not allowed');
    const form = new URLSearchParams(oauth.refresh(id, body.refresh_token) as Record<string, string>);
    expect((await fetch(`${oauth.issuer}/token`, { method: 'POST', headers, body: form })).status).toBe(200);
  });
});

/**
 * The authorization server with its own certificate. Its URLs are https, and a renewed certificate ends no open stream.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readFileSync, renameSync } from 'node:fs';
import { connect, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { makeAuthority, type Authority, type CertificateFiles } from '../support/certificates.js';
import { connectedClient, openStream } from '../support/connected-client.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { sendRaw } from '../support/http.js';
import { newVerifier, newClientHeaders } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { eventually, temporaryFolder } from '../support/processes.js';

describeWithOpenssl('the authorization server with a certificate', () => {
  const trusted = getCACertificates();
  let authority: Authority;
  let files: CertificateFiles;
  let world: OAuthWorld;
  beforeAll(async () => {
    authority = makeAuthority(temporaryFolder('oauth-tls'));
    files = authority.issue('mcp');
    // Makes the clients in this process trust the test authority.
    setDefaultCACertificates([...trusted, readFileSync(authority.cert, 'utf8')]);
    world = await OAuthWorld.start({ tls: { cert: files.cert, key: files.key } });
  });
  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await world?.stop();
  });

  const port = (): number => Number(new URL(world.issuer).port);
  /** Returns the fingerprint of the certificate that a new connection gets. */
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: port(), host: '127.0.0.1', servername: 'localhost' }, () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });

  it('authorizes a client, with https URLs only in its metadata', async () => {
    const refused = await world.listTools(undefined);
    const [, url = ''] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
    expect([refused.status, url]).toEqual([401, `${world.issuer}/.well-known/oauth-protected-resource/mcp`]);
    const documents = [url, `${world.issuer}/.well-known/oauth-authorization-server`];
    const text = (await Promise.all(documents.map(async (each) => (await fetch(each)).text()))).join('');
    expect(text).toContain(`"token_endpoint":"${world.issuer}/token"`);
    expect(text).not.toContain('http:');
    const accountId = await world.newAccount();
    const { clientId, code, verifier } = await world.code(accountId);
    const { body } = await world.token(world.exchange(clientId, code, verifier));
    expect((await world.listTools(body.access_token)).status).toBe(200);
    expect((await world.token(world.refresh(clientId, body.refresh_token))).status).toBe(200);
  });

  it('sets Secure, HttpOnly and SameSite=Lax cookies, whatever the forwarding headers say', async () => {
    const clientId = String((await world.register()).body['client_id']);
    // Forwarding headers from an untrusted address have no effect.
    const headers = { ...newClientHeaders(), 'x-forwarded-proto': 'http', 'x-forwarded-host': 'evil.example' };
    const url = world.authorizeUrl(clientId, newVerifier().challenge);
    const { headers: given } = await fetch(url, { redirect: 'manual', headers });
    const cookies = given.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/; secure/i);
      expect(cookie).toMatch(/; httponly/i);
      expect(cookie).toMatch(/; samesite=lax/i);
      expect(cookie).not.toContain('evil');
    }
  });

  it('does not serve its metadata without TLS', async () => {
    const path = '/.well-known/oauth-authorization-server';
    expect(await sendRaw(port(), `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).not.toContain('issuer');
  });

  it('uses a renewed certificate for new connections, while an open stream continues', async () => {
    const { access_token: token } = await world.authorize(await world.newAccount());
    const client = await connectedClient(world.mcpUrl, token);
    try {
      const stream = await openStream(client);
      expect(await shown()).toBe(files.fingerprint());
      const next = authority.issue('next');
      const fingerprint = next.fingerprint();
      renameSync(next.cert, files.cert);
      renameSync(next.key, files.key);
      await eventually('new connections get the new certificate', async () => (await shown()) === fingerprint);
      expect(stream.isOver()).toBe(false);
      expect((await world.listTools(token)).status).toBe(200);
      await world.authorize(await world.newAccount());
      expect(stream.isOver()).toBe(false);
    } finally {
      await client.close();
    }
  });
});

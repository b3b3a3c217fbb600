/** Tests which parts of a client's metadata document are accepted from an uncooperative server. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hasOpenssl, localCertificate } from '../../test/support/certificates.js';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { Browser, DAY_MS, newVerifier } from '../../test/support/oauth-steps.js';
import { REQUEST_LIFETIME_MS } from './clients/authorization-requests.js';
import { outboundRules } from '../http/outbound/destination.js';
import { ClientDocuments } from './client-documents.js';

const REDIRECTS = ['https://app.example.com/callback'];

(hasOpenssl ? describe : describe.skip)('a client metadata document', () => {
  const { cert, key } = localCertificate();
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  const local = {
    rules: outboundRules({ allowHttp: false, allowPrivateNetworks: ['127.0.0.1/32'] }),
    resolve: () => Promise.resolve(['127.0.0.1']),
    tls: { ca: cert },
    bodyTimeoutMs: 100,
  };
  let oauth: OAuthServerWorld;
  let documents: ClientDocuments;
  beforeAll(async () => {
    oauth = await OAuthServerWorld.start((objects, clock) => (documents = new ClientDocuments(objects, clock, local)));
  });
  afterAll(() => oauth?.stop());

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer({ cert, key }, listener);
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  }

  /** Serves a metadata document at its own URL and fetches it. */
  async function fetchOf(more: (url: string) => object): Promise<Response> {
    const url: string = await serve((_request, response) => response.end(JSON.stringify(more(url))));
    return documents.fetchDocument(url);
  }

  it('is reduced to the needed fields', async () => {
    const response = await fetchOf((url) => ({
      client_id: url,
      client_name: 'Trip planner',
      redirect_uris: REDIRECTS,
      token_endpoint_auth_method: 'none',
      scope: 'everything',
      grant_types: ['implicit'],
    }));
    const accepted = (await response.json()) as Record<string, unknown>;
    expect(accepted).toMatchObject({ client_name: 'Trip planner', redirect_uris: REDIRECTS, application_type: 'web' });
    expect(accepted).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] });
    expect(accepted).not.toHaveProperty('scope');
  });

  it('with a loopback redirect describes a native client, which is named after its host by default', async () => {
    const response = await fetchOf((url) => ({ client_id: url, redirect_uris: ['http://127.0.0.1/callback'] }));
    expect(await response.json()).toMatchObject({
      application_type: 'native',
      client_name: expect.stringContaining('localhost'),
    });
  });

  it.each([
    [
      'of another client',
      'is of another client',
      () => ({ client_id: 'https://other.example.com/', redirect_uris: REDIRECTS }),
    ],
    ['without an address', /redirect_uris[^]*is missing/, (url: string) => ({ client_id: url })],
    [
      'with an address of plain HTTP',
      'must be https:',
      (url: string) => ({ client_id: url, redirect_uris: ['http://a.example.com/'] }),
    ],
    [
      'of a client that would show who it is otherwise',
      'in a way that is not taken here',
      (url: string) => ({ client_id: url, redirect_uris: REDIRECTS, token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    [
      'that is larger than any',
      'is too large',
      (url: string) => ({ client_id: url, redirect_uris: REDIRECTS, more: 'x'.repeat(17_000) }),
    ],
    ['that is no object', 'must be an object, not a list', () => ['x']],
  ])('%s is refused', async (_name, why, more) => {
    await expect(fetchOf(more)).rejects.toThrow(why);
  });

  describe('for a known client', () => {
    let response: RequestListener;
    let url: string;
    let served: object;
    beforeEach(async () => {
      url = await serve((message, reply) => response(message, reply));
      served = { client_id: url, client_name: 'Trip planner', redirect_uris: REDIRECTS };
      response = (_message, reply) => reply.end(JSON.stringify(served));
    });
    const ask = async (): Promise<string> => {
      const { challenge } = newVerifier();
      const asked = oauth.authorizeUrl(url, challenge, { redirect_uri: REDIRECTS[0] });
      return String(await oauth.ask(new Browser(), asked));
    };
    const authorize = async () => oauth.approve(await ask(), await oauth.newAccount());
    const fetchDocument = async () => (await documents.fetchDocument(url)).json();

    it.each<[string, RequestListener]>([
      ['is broken off', (message) => message.socket.destroy()],
      ['is 503', (_message, reply) => reply.writeHead(503).end()],
      ['is 429', (_message, reply) => reply.writeHead(429).end()],
    ])('stays in use while the response %s, and is updated when the server recovers', async (_name, away) => {
      await authorize();
      const up = response;
      response = away;
      const kept = await documents.fetchDocument(url);
      expect(kept.headers.get('cache-control')).toBe('max-age=60');
      expect(await kept.json()).toMatchObject({ client_id: url, redirect_uris: REDIRECTS, application_type: 'web' });
      served = { ...served, redirect_uris: ['https://app.example.com/other'] };
      response = up;
      expect(await fetchDocument()).toMatchObject({ redirect_uris: ['https://app.example.com/other'] });
      response = away;
      expect(await fetchDocument()).toMatchObject({ redirect_uris: ['https://app.example.com/other'] });
    });

    it.each<[string, RequestListener]>([
      ['gone', (_message, reply) => reply.writeHead(404).end()],
      ["another client's", (_message, reply) => reply.end('{"client_id":"https://other.example.com/"}')],
    ])('is no longer used if it is %s', async (_name, changed) => {
      await authorize();
      response = changed;
      const outcome = await documents.fetchDocument(url).then(
        ({ status }) => status,
        () => 'refused',
      );
      expect([404, 'refused']).toContain(outcome);
    });

    it('is stored while its request is open, and for the longest key lifetime after approval', async () => {
      const isKept = async (): Promise<boolean> =>
        fetchDocument().then(
          () => true,
          () => false,
        );
      await fetchDocument();
      response = (message) => message.socket.destroy();
      expect(await isKept()).toBe(false);
      response = (_message, reply) => reply.end(JSON.stringify(served));
      await ask();
      response = (message) => message.socket.destroy();
      expect(await isKept()).toBe(true);
      oauth.clock.advance(REQUEST_LIFETIME_MS);
      expect(await isKept()).toBe(false);
      // The library still has the document cached.
      await authorize();
      oauth.clock.advance(90 * DAY_MS);
      expect(await isKept()).toBe(true);
      oauth.clock.advance(DAY_MS);
      expect(await isKept()).toBe(false);
    });
  });

  it('is not fetched from the target of a redirect', async () => {
    let asked = 0;
    const target = await serve((_request, response) => {
      asked += 1;
      response.end('{}');
    });
    const url = await serve((_request, response) => response.writeHead(302, { location: target }).end());
    expect((await documents.fetchDocument(url)).status).toBe(302);
    expect(asked).toBe(0);
  });

  it('that never ends is refused after a timeout', async () => {
    const startedMs = performance.now();
    const url = await serve((_request, response) => void response.writeHead(200).write('{'));
    // The part received before the timeout is not valid JSON.
    await expect(documents.fetchDocument(url)).rejects.toThrow('JSON');
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it('on this machine is not fetched by default, even if a public name resolves to it', async () => {
    const url = new URL(await serve((_request, response) => response.end('{}')));
    let connections = 0;
    servers.at(-1)?.on('connection', () => (connections += 1));
    const { objects, clock } = oauth;
    const byName = new ClientDocuments(objects, clock).fetchDocument(url.href);
    await expect(byName).rejects.toMatchObject({ reason: 'name_not_public' });
    const { resolve, tls } = local;
    url.hostname = 'client.trailgate.dev';
    const byAddress = new ClientDocuments(objects, clock, { resolve, tls }).fetchDocument(url.href);
    await expect(byAddress).rejects.toMatchObject({ reason: 'loopback' });
    expect(connections).toBe(0);
    url.hostname = 'localhost';
    await documents.fetchDocument(url.href).catch(() => undefined);
    expect(connections).toBe(1);
  });
});

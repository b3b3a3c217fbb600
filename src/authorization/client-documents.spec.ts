/** What is taken of the document that a client's id leads to, from a server that does what it likes. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { hasOpenssl, makeCertificate } from '../../test/support/certificates.js';
import { outboundRules } from '../outbound/destination.js';
import { ClientDocuments } from './client-documents.js';

const REDIRECTS = ['https://app.example.com/callback'];

(hasOpenssl ? describe : describe.skip)('a document', () => {
  const files = makeCertificate(mkdtempSync(join(tmpdir(), 'trailgate-documents-')));
  const [cert, key] = [readFileSync(files.cert), readFileSync(files.key)];
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  const documents = new ClientDocuments({
    rules: outboundRules({ allowHttp: false, allowPrivateNetworks: ['127.0.0.1/32'] }),
    resolve: () => Promise.resolve(['127.0.0.1']),
    tls: { ca: cert },
  });

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer({ cert, key }, listener);
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  }

  /** Fetches what a server says of the client at its own URL. */
  async function fetchOf(more: (url: string) => object): Promise<Response> {
    const url: string = await serve((_request, response) => response.end(JSON.stringify(more(url))));
    return documents.fetch(url);
  }

  it('is taken as far as it is needed, and nothing else of it', async () => {
    const response = await fetchOf((url) => ({
      client_id: url,
      client_name: 'Trip planner',
      redirect_uris: REDIRECTS,
      token_endpoint_auth_method: 'none',
      scope: 'everything',
      grant_types: ['implicit'],
    }));
    const taken = (await response.json()) as Record<string, unknown>;
    expect(taken).toMatchObject({ client_name: 'Trip planner', redirect_uris: REDIRECTS, application_type: 'web' });
    expect(taken).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] });
    expect(taken).not.toHaveProperty('scope');
  });

  it('of a program on the own machine may come back to any port there', async () => {
    const response = await fetchOf((url) => ({ client_id: url, redirect_uris: ['http://127.0.0.1/callback'] }));
    expect(await response.json()).toMatchObject({
      application_type: 'native',
      client_name: expect.stringContaining('localhost'),
    });
  });

  it.each([
    ['of another client', () => ({ client_id: 'https://other.example.com/', redirect_uris: REDIRECTS })],
    ['without an address', (url: string) => ({ client_id: url })],
    ['with an address of plain HTTP', (url: string) => ({ client_id: url, redirect_uris: ['http://a.example.com/'] })],
    [
      'of a client that would show who it is otherwise',
      (url: string) => ({ client_id: url, redirect_uris: REDIRECTS, token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    [
      'that is larger than any',
      (url: string) => ({ client_id: url, redirect_uris: REDIRECTS, more: 'x'.repeat(17_000) }),
    ],
    ['that is no object', () => ['x']],
  ])('%s is refused', async (_name, more) => {
    await expect(fetchOf(more)).rejects.toBeInstanceOf(Error);
  });

  it('that is elsewhere is not followed', async () => {
    let asked = 0;
    const target = await serve((_request, response) => {
      asked += 1;
      response.end('{}');
    });
    const url = await serve((_request, response) => response.writeHead(302, { location: target }).end());
    expect((await documents.fetch(url)).status).toBe(302);
    expect(asked).toBe(0);
  });

  it('that never ends is given up', async () => {
    const startedMs = performance.now();
    const url = await serve((_request, response) => void response.writeHead(200).write('{'));
    await expect(documents.fetch(url)).rejects.toBeInstanceOf(Error);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it('on this machine is never fetched unless a test says so', async () => {
    const url = await serve((_request, response) => response.end('{}'));
    await expect(new ClientDocuments().fetch(url)).rejects.toBeInstanceOf(Error);
  });
});

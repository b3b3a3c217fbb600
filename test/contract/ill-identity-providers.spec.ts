/** An identity provider that is down, hangs or sends invalid responses causes a timely 503 and a log entry. */
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProviderConfig } from '../../src/config/model/admin-schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ProviderClients } from '../../src/members/providers/provider-clients.js';
import { systemClock } from '../../src/platform/clock.js';
import { testDatabase } from '../support/database.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { OpenProviders, providerConfig, TO_SIGN_IN } from '../support/open-providers.js';

describe('a failing identity provider', () => {
  let database: DatabaseHandle;
  let idp: IdentityProvider;
  let open: OpenProviders;

  beforeAll(async () => {
    idp = await IdentityProvider.start();
  });
  afterAll(async () => await idp.stop());
  beforeEach(async () => {
    database = await testDatabase('sqlite');
    open = new OpenProviders(database);
    configure();
  });
  afterEach(async () => await database.close());

  const config = (fields: Partial<ProviderConfig> = {}): ProviderConfig => providerConfig(idp.issuer, fields);
  const configure = (fields: Partial<ProviderConfig> = {}) => {
    open.configured = { company: config(fields) };
  };

  const unavailable = { code: 'identity_provider_unavailable', status: 503 };
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  /** Starts an issuer that sends the given response to every request. */
  async function startIssuer(body: string | Buffer, type = 'application/json', status = 200): Promise<string> {
    server = createServer((_request, response) => void response.writeHead(status, { 'content-type': type }).end(body));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each([
    ['a page', '<html>hello</html>', 'text/html', 200],
    ['nonsense', '{"issuer":', 'application/json', 200],
    ['another issuer', '{"issuer":"https://evil.example"}', 'application/json', 200],
    ['no endpoints', '{}', 'application/json', 200],
    ['an error', 'oops', 'text/plain', 500],
    ['a redirect', '', 'text/plain', 302],
    ['a response without end', Buffer.alloc(3_000_000, ' '), 'application/json', 200],
  ])('that returns %s causes a 503, and the log names the provider', async (_what, body, type, status) => {
    configure({ issuer: await startIssuer(body, type, status) });
    await expect(open.providers.beginSignIn('company', TO_SIGN_IN)).rejects.toMatchObject(unavailable);
    expect(open.warnings).toMatchObject([{ event: 'identity_provider_failed', provider: 'company' }]);
  });

  it('that is down is called again after five seconds, not for each of the people who try', async () => {
    let nowMs = systemClock.now();
    const clock = { now: () => nowMs };
    const closed = createTcpServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    let asked = 0;
    closed.on('connection', (socket) => {
      asked++;
      socket.destroy();
    });
    const provider = config({ issuer: `http://127.0.0.1:${port}` });
    const clients = new ProviderClients(clock);
    for (let person = 0; person < 50; person++)
      await expect(clients.find('company', provider)).rejects.toThrow(/went wrong|fetch failed/);
    const first = asked;
    expect(first).toBeGreaterThan(0);
    nowMs += 5_001;
    await expect(clients.find('company', provider)).rejects.toThrow(/went wrong|fetch failed/);
    expect(asked).toBeGreaterThan(first);
    closed.close();
    await expect(clients.find('company', config())).resolves.toBeDefined();
  });

  it('whose token endpoint hangs causes a 503 within seconds', async () => {
    const own = await IdentityProvider.start();
    try {
      configure({ issuer: own.issuer });
      const { url, step } = await open.providers.beginSignIn('company', TO_SIGN_IN);
      const back = await own.signIn(url, 'ana');
      own.freeze();
      const begunMs = performance.now();
      await expect(open.finish(step.token, back.search)).rejects.toMatchObject(unavailable);
      expect(performance.now() - begunMs).toBeGreaterThan(4_000);
      expect(performance.now() - begunMs).toBeLessThan(30_000);
      expect(open.warnings).toMatchObject([{ event: 'identity_provider_failed', reason: 'OAUTH_TIMEOUT' }]);
    } finally {
      own.thaw();
      await own.stop();
    }
  });

  it('that rejects our client secret causes a 503', async () => {
    configure({ clientSecret: 'another secret' });
    const { url, step } = await open.providers.beginSignIn('company', TO_SIGN_IN);
    const back = await idp.signIn(url, 'ana');
    await expect(open.finish(step.token, back.search)).rejects.toMatchObject(unavailable);
  });
});

/** Attack: headers that make a backend see another account, or that remove the headers of the gateway. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;
let own: Record<string, string>;

beforeAll(async () => {
  gateway = await startProxied();
  const { account_id: accountId } = (await gateway.send('/usage')).json<{ account_id: string }>();
  own = { 'x-account-id': accountId, 'x-api-key-id': gateway.key.id, 'x-api-scopes': '*' };
});
afterAll(() => gateway.stop());

/** Returns the identity headers that a backend sees, including names with underscores, which CGI treats alike. */
async function identitySeen(fields: readonly string[]): Promise<Record<string, string[]>> {
  gateway.backend.requests.length = 0;
  const answer = await gateway.send('/customers', { headers: [...fields] });
  expect(answer.status).toBe(200);
  const [received] = gateway.backend.requests;
  const seen: Record<string, string[]> = {};
  received?.rawHeaders.forEach((name, at, all) => {
    const cgi = name.toLowerCase().replaceAll('_', '-');
    if (at % 2 === 0 && cgi in own) (seen[cgi] ??= []).push(all[at + 1] ?? '');
  });
  return seen;
}

const untouched = (): Record<string, string[]> =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [name, [value]]));

const NAMES = ['x-account-id', 'x-api-key-id', 'x-api-scopes'];

it.each(NAMES.flatMap((name) => [name, name.toUpperCase(), name.replaceAll('-', '_'), name.replace('-', '_')]))(
  'a forged %s does not reach the backend',
  async (name) => {
    expect(await identitySeen([name, 'acc_victim'])).toEqual(untouched());
    expect(await identitySeen([name, 'acc_victim', name, 'acc_victim'])).toEqual(untouched());
  },
);

it.each([...NAMES, 'x-request-id', 'forwarded', 'x-forwarded-for', 'host', 'via'])(
  'Connection: %s does not remove the header of the gateway',
  async (name) => {
    for (const value of [name, `close, ${name}`, name.toUpperCase(), `\t${name} ,`]) {
      expect(await identitySeen(['Connection', value, name === 'host' ? 'X-A' : name, 'evil'])).toEqual(untouched());
      expect(gateway.backend.requests[0]?.headers[name]).toBeDefined();
    }
  },
);

it('Connection: authorization does not forward the API key', async () => {
  await identitySeen(['Connection', 'authorization, x-account-id']);
  expect(JSON.stringify(gateway.backend.requests[0]?.rawHeaders)).not.toContain('tg_live_');
});

it('trailers are not forwarded as headers', async () => {
  gateway.backend.requests.length = 0;
  await gateway.raw(
    `POST /api/v1/customers HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Account-Id\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Account-Id: acc_victim\r\n\r\n`,
  );
  const [received] = gateway.backend.requests;
  expect(received?.headers['x-account-id']).toBe(own['x-account-id']);
  expect(received?.trailers).toEqual({});
});

it('a line break in path, query or request ID does not add a header', async () => {
  gateway.backend.requests.length = 0;
  await gateway.send('/customers?x=%0d%0aX-Account-Id:%20acc_victim', {
    headers: ['X-Request-Id', 'a%0d%0aX-Account-Id: acc_victim'],
  });
  expect(await gateway.send('/customers/%0d%0aX-Account-Id:%20acc_victim')).toMatchObject({ status: 400 });
  expect(gateway.backend.requests.map(({ headers }) => headers['x-account-id'])).toEqual([own['x-account-id']]);
});

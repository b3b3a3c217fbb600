/** Attack: a Host field that is missing, doubled or forged, to speak in the name of another host or to write into our fields. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectProblem, parseAnswer } from '../support/problem.js';
import { startProxied, type Proxied } from '../support/proxied.js';

let gateway: Proxied;

beforeAll(async () => {
  gateway = await startProxied();
});
afterAll(() => gateway.stop());
beforeEach(() => void (gateway.backend.requests.length = 0));

const get = (hosts: string, target = '/api/v1/open', version = '1.1'): Promise<string> =>
  gateway.raw(`GET ${target} HTTP/${version}\r\n${hosts}Authorization: ${gateway.authorization}\r\n\r\n`, 400);

// RFC 9112 section 3.2: a server MUST answer 400 to a request without Host, with several, or with an invalid one.
describe('is refused with 400', () => {
  it.each([
    ['no Host', ''],
    ['two that differ', 'Host: api.example.com\r\nHost: evil.example\r\n'],
    ['two that agree', 'Host: api.example.com\r\nhost: api.example.com\r\n'],
    ['an empty one', 'Host:\r\n'],
    ['a list', 'Host: api.example.com, evil.example\r\n'],
    ['a quote that would end our own', 'Host: a";for=1.2.3.4;x="\r\n'],
    ['a path', 'Host: api.example.com/evil\r\n'],
    ['a query', 'Host: api.example.com?x\r\n'],
    ['a user', 'Host: user@api.example.com\r\n'],
    ['a port that is none', 'Host: api.example.com:evil\r\n'],
    ['a port that is too long', 'Host: api.example.com:999999\r\n'],
    ['a space', 'Host: api example.com\r\n'],
    ['bytes beyond ASCII', 'Host: \xe4pi.example.com\r\n'],
    ['half an IPv6 address', 'Host: [::1\r\n'],
    ['a script', 'Host: <script>\r\n'],
  ])('%s', async (_what, hosts) => {
    const answer = parseAnswer(await get(hosts));
    expectProblem(answer, 'bad_request');
    expect(answer.headers['connection']).toBe('close');
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it.each([
    'http:///api/v1/open',
    'http://user@a/api/v1/open',
    'http://a"b/api/v1/open',
    'ftp://a/api/v1/open',
    'file:///api/v1/open',
  ])('or 404, and not forwarded: the absolute form %s', async (target) => {
    expect([400, 404]).toContain(parseAnswer(await get('Host: a\r\n', target)).status);
    expect(gateway.backend.requests).toHaveLength(0);
  });
});

describe('is told to the backend as it is', () => {
  it.each([
    'api.example.com',
    'api.example.com:8443',
    'localhost',
    '127.0.0.1:8080',
    '[::1]:8080',
    'a_b.internal',
    'xn--pi-uja.example',
  ])('%s', async (host) => {
    expect(parseAnswer(await get(`Host: ${host}\r\n`)).status).toBe(200);
    expect(gateway.backend.requests[0]?.headers).toMatchObject({
      'x-forwarded-host': host,
      forwarded: `for=127.0.0.1;host="${host}";proto=http`,
      host: `127.0.0.1:${gateway.backend.port}`,
    });
  });

  it('HTTP/1.0 may go without', async () => {
    expect(parseAnswer(await get('', '/api/v1/open', '1.0')).status).toBe(200);
    expect(gateway.backend.requests[0]?.headers).toMatchObject({ host: `127.0.0.1:${gateway.backend.port}` });
  });
});

/** Attack: a missing, repeated or forged Host header, to impersonate a host or to inject into forwarded headers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';
import { expectProblem, parseAnswer } from '../support/problem.js';
import type { Proxied } from '../support/proxied.js';

let edge: Edge;
let gateway: Proxied;

beforeAll(async () => {
  edge = await startEdge();
  gateway = edge.gatewayFor('own parser');
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

const get = (hosts: string, target = '/api/v1/open', version = '1.1'): Promise<string> =>
  gateway.raw(`GET ${target} HTTP/${version}\r\n${hosts}Authorization: ${gateway.authorization}\r\n\r\n`, 400);

// RFC 9112 section 3.2: a server MUST answer 400 to a request without Host, with several, or with an invalid one.
describe('a Host header is refused with 400', () => {
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

  // Section 3.2.2: the authority of the target is used, but the Host must be valid, too.
  it.each(['', 'Host: a";for=1.2.3.4\r\n', 'Host: a\r\nHost: b\r\n', 'Host: a, b\r\n'])(
    'even with an absolute target: %j',
    async (hosts) => {
      const answer = parseAnswer(await get(hosts, 'http://api.example.com/api/v1/open'));
      expectProblem(answer, 'bad_request');
      expect(answer.headers['connection']).toBe('close');
      expect(gateway.backend.requests).toHaveLength(0);
    },
  );

  it.each([
    'http:///api/v1/open',
    'http://user@a/api/v1/open',
    'http://a"b/api/v1/open',
    'ftp://a/api/v1/open',
    'file:///api/v1/open',
    'http://a%zz/api/v1/open',
    'http://[.]/api/v1/open',
  ])('or 404 when the absolute target is %s, and is not forwarded', async (target) => {
    expect([400, 404]).toContain(parseAnswer(await get('Host: a\r\n', target)).status);
    expect(gateway.backend.requests).toHaveLength(0);
  });
});

describe('a valid Host header is forwarded unchanged', () => {
  it.each([
    'api.example.com',
    'api.example.com:8443',
    'localhost',
    '127.0.0.1:8080',
    '[::1]:8080',
    'a_b.internal',
    'xn--pi-uja.example',
    // RFC 3986 section 3.2.3: `port = *DIGIT`.
    'e:',
    '[::ffff:1.2.3.4]',
  ])('%s', async (host) => {
    expect(parseAnswer(await get(`Host: ${host}\r\n`)).status).toBe(200);
    expect(gateway.backend.requests[0]?.headers).toMatchObject({
      'x-forwarded-host': host,
      forwarded: `for=127.0.0.1;host="${host}";proto=http`,
      host: `127.0.0.1:${gateway.backend.port}`,
    });
  });

  it('but can be missing in HTTP/1.0', async () => {
    expect(parseAnswer(await get('', '/api/v1/open', '1.0')).status).toBe(200);
    expect(gateway.backend.requests[0]?.headers).toMatchObject({ host: `127.0.0.1:${gateway.backend.port}` });
  });
});

// RFC 3986 section 3.2.2, of which RFC 9110 section 7.2 makes the Host; over HTTP/2 RFC 9113 section 8.3.1 the
// authority.
describe.each(TRANSPORTS)('%s', (transport) => {
  it.each([
    ['an escape that is none', 'a%zz'],
    ['a percent sign', '%'],
    ['half an escape', 'a%2'],
    ['colons in brackets', '[:::::]'],
    ['a dot in brackets', '[.]'],
    ['an IPv4 address in brackets', '[1.2.3.4]'],
    ['nothing in brackets', '[]'],
    ['an address of nine groups', '[1:2:3:4:5:6:7:8:9]'],
    ['a zone', '[fe80::1%25eth0]'],
    ['an address behind a name', 'a[::1]'],
    ['a port of letters', 'a:b'],
    ['a port alone', ':80'],
    ['a port that there is not', 'a:99999'],
    ['an encoded end of a line', 'a%0d%0ab'],
    ['an encoded letter', 'a%2d'],
  ])('an invalid host is refused: %s', async (_what, host) => {
    expectProblem(await edge.sendRequest(transport, { host }), 'bad_request');
    expect(edge.receivedRequests(transport)).toHaveLength(0);
  });

  it.each(['e:', 'a:65535', '[::1]:', '[2001:db8::1]:8443', '[::ffff:1.2.3.4]'])(
    'a valid host is served: %s',
    async (host) => {
      expect((await edge.sendRequest(transport, { host })).status).toBe(200);
      expect(edge.receivedRequests(transport)[0]?.headers).toMatchObject({ 'x-forwarded-host': host });
    },
  );
});

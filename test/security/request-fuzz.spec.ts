/**
 * Attack: thousands of almost valid requests on raw connections. A leaked pool connection would end the service. A
 * client that can set our headers could impersonate another. Fifteen times TRAILGATE_TEST_HISTORIES requests are sent.
 * TRAILGATE_TEST_SEED repeats them.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ServerResponse } from 'node:http';
import { json } from '../support/backend.js';
import { announceHistories, HISTORIES_TIMEOUT_MS, RUNS } from '../support/histories.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const CONNECTIONS = 4;
const AT_ONCE = 48;
const REQUESTS = 15 * RUNS.numRuns;
/** Part of every forged value, and of nothing else. */
const FORGED = 'f0rged';

/** Fields that only the gateway may set. `X-Request-Id`, `traceparent` and `Via` continue the client's. */
const RESERVED =
  /^(authorization|forwarded|x-(account-id|api-key-id|api-scopes|real-ip|client-ip|cluster-client-ip|trailgate-.*|forwarded-.*|original-url|rewrite-url|http-method.*|method-override)|true-client-ip|cf-connecting-ip|fastly-client-ip)$/;

const RESERVED_NAMES = (
  'X-Account-Id X-Api-Key-Id X-Api-Scopes X-Forwarded-For X-Forwarded-Anything Forwarded X-Real-Ip X-Trailgate-Admin ' +
  'X-Original-Url X-Http-Method-Override Cf-Connecting-Ip'
).split(' ');

const pick = <T>(...values: T[]) => fc.constantFrom(...values);
const weighted = <T>(...choices: [number, fc.Arbitrary<T>][]) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const bytes = (most: number, least = 0, until = 0xff) =>
  fc.array(fc.integer({ min: least, max: until }), { maxLength: most }).map((codes) => String.fromCharCode(...codes));
const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);

const method = weighted(
  [12, pick('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH')],
  [2, pick('OPTIONS', 'CONNECT', 'TRACE', 'get', 'Get', 'M-SEARCH', 'PROPFIND', 'PRI', 'QUERY', 'SOURCE')],
  [1, token],
  [1, bytes(8)],
);
const path = weighted(
  [10, pick('/api/v1/open', '/api/v1/customers', '/api/v1/customers/7', '/api/v1/files/a')],
  [4, bytes(30, 0x21, 0x7e).map((rest) => `/api/v1/files/${rest}`)],
  [2, bytes(30).map((rest) => `/api/v1/files/${rest}`)],
  [
    2,
    pick('*', 'a:80', 'http://h/api/v1/open', 'http://h:x/', '//', '', '/api/v1/files/%00', '/api/v1/../x', '/\\', '?'),
  ],
  [1, bytes(40)],
);
const query = weighted(
  [4, fc.constant('')],
  [2, bytes(30, 0x21, 0x7e).map((rest) => `?${rest}`)],
  [1, bytes(30).map((rest) => `?${rest}`)],
);
const reservedName = fc
  .tuple(
    fc.constantFrom(...RESERVED_NAMES),
    pick(
      (name: string) => name,
      (name: string) => name.toLowerCase(),
      (name: string) => name.toUpperCase(),
      (name: string) => name.replaceAll('-', '_'),
      (name: string) => name.replace('-', '_').toLowerCase(),
      (name: string) => `${name} `,
    ),
  )
  .map(([name, spelt]) => spelt(name));
const value = weighted([6, bytes(40, 0x20, 0x7e)], [2, bytes(40, 0x80)], [1, bytes(40)], [1, fc.constant('')]);
const field = weighted(
  [5, fc.tuple(token, value)],
  [4, reservedName.map((name): [string, string] => [name, FORGED])],
  [
    3,
    fc.tuple(
      pick('Connection', 'connection', 'Proxy-Connection', 'Keep-Alive', 'TE', 'Trailer'),
      pick('close', 'X-Account-Id, authorization', 'host, content-length', 'traceparent', ', ,,', 'x_account_id', '"'),
    ),
  ],
  [
    3,
    fc.tuple(
      pick('Transfer-Encoding', 'Transfer_Encoding', 'Content-Length', 'Expect', 'Upgrade', 'HTTP2-Settings', 'Host'),
      pick('chunked', 'gzip, chunked', '0', '00', '5', '+5', '-1', '5, 5', '100-continue', 'websocket', 'h2c', '', 'x'),
    ),
  ],
  [
    2,
    fc.tuple(pick('__proto__', 'constructor', 'Via', 'traceparent', 'X-Request-Id', 'Content-Type', 'Cookie'), value),
  ],
  [1, fc.tuple(bytes(12), bytes(20))],
);
const body = weighted(
  [6, fc.constant({ fields: '', bytes: '' })],
  [3, bytes(60).map((text) => ({ fields: `Content-Length: ${text.length}\r\n`, bytes: text }))],
  [
    3,
    fc.array(bytes(20), { maxLength: 3 }).map((chunks) => ({
      fields: 'Transfer-Encoding: chunked\r\n',
      bytes: `${chunks
        .filter((chunk) => chunk !== '')
        .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
        .join('')}0\r\nX-Account-Id: ${FORGED}\r\n\r\n`,
    })),
  ],
  [1, bytes(30).map((text) => ({ fields: 'Transfer-Encoding: chunked\r\n', bytes: `${text}\r\n0\r\n\r\n` }))],
  [1, bytes(30).map((text) => ({ fields: '', bytes: text }))],
);
const version = weighted([14, fc.constant('HTTP/1.1')], [1, pick('HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'http/1.1', '')]);
const lineEnd = weighted([14, fc.constant('\r\n')], [1, pick('\n', '\r', '\r\n ', '\r\r\n')]);

/** Bytes for a connection. The key is inserted later. */
const attack = fc
  .tuple(method, path, query, version, fc.array(fc.tuple(field, lineEnd), { maxLength: 5 }), body)
  .map(([verb, where, what, spoken, fields, sent]) => (authorization: string) => {
    const lines = fields.map(([[name, text], end]) => `${name}: ${text}${end}`).join('');
    const head = `${verb} ${where}${what} ${spoken}\r\nHost: a\r\nAuthorization: ${authorization}\r\n`;
    return `${head}Connection: close\r\n${lines}${sent.fields}\r\n${sent.bytes}`;
  });

let gateway: OwnProxied;

beforeAll(async () => {
  const timeouts = { connect: '1s', firstByte: '3s', idle: '500ms' };
  gateway = await startProxied({
    own: true,
    config: { services: { backend: { connections: CONNECTIONS, accountShare: 1, timeouts } } },
  });
  announceHistories('requests that are nearly right');
});
afterAll(() => gateway.stop());

/**
 * Sends requests, `AT_ONCE` at a time. Returns those with an invalid response or with 5xx, except 501.
 */
async function sendAll(attacks: readonly string[]): Promise<string[]> {
  const strange: string[] = [];
  let next = 0;
  let served = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let text = attacks[next++]; text !== undefined; text = attacks[next++]) {
        const answer = await gateway
          .raw(text, 2_000)
          .catch(() => `the program is gone: ${gateway.trailgate.stdout.slice(-3).join()}`);
        if (answer.startsWith('HTTP/1.1 200 ')) served++;
        if (answer !== '' && !/^HTTP\/1\.1 (?:[1-4]\d\d|501) /.test(answer)) {
          strange.push(`${JSON.stringify(text.replace(gateway.authorization, 'KEY'))} got ${answer.slice(0, 300)}`);
        }
      }
    }),
  );
  // If too few are served, most attacks were refused early and test nothing.
  expect(served).toBeGreaterThan(attacks.length / 15);
  return strange;
}

it(
  'almost valid requests leak no backend connection, forge no header, and crash nothing',
  async () => {
    gateway.answerWith(json({ ok: true }));
    const attacks = fc.sample(attack, { numRuns: REQUESTS, seed: RUNS.seed });
    expect(await sendAll(attacks.map((each) => each(gateway.authorization)))).toEqual([]);
    const { requests } = gateway.backend;
    const forged = requests.filter(({ rawHeaders, trailers, url }) => {
      const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
      const isForged = pairs.some(
        ([name, text]) => RESERVED.test(name.toLowerCase().replaceAll('_', '-').trim()) && text.includes(FORGED),
      );
      const accounts = pairs.filter(([name]) => name.toLowerCase().replaceAll('_', '-') === 'x-account-id');
      const isKeySeen = pairs.some(([, text]) => text.includes(gateway.key.secret)) || url.includes(gateway.key.secret);
      return isForged || accounts.length !== 1 || isKeySeen || JSON.stringify(trailers).includes(FORGED);
    });
    expect(forged.map(({ method: verb, url, rawHeaders }) => [verb, url, rawHeaders])).toEqual([]);

    const held: ServerResponse[] = [];
    gateway.answerWith((_request, response) => void held.push(response));
    const slow = Array.from({ length: CONNECTIONS }, () => gateway.send('/open'));
    await eventually('every connection of the pool works', () => held.length === CONNECTIONS);
    for (const response of held) response.end('{}');
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(slow.map(() => 200));
    const faults = gateway.trailgate.logs().filter(({ event }) => event === 'internal_error' || event === 'crash');
    expect([faults, gateway.trailgate.stderr]).toEqual([[], []]);
  },
  HISTORIES_TIMEOUT_MS,
);

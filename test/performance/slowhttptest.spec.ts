/**
 * Attack with slowhttptest (a Debian package), with a thousand connections in each of its modes. Meanwhile, every other
 * request gets a response within a second.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';
import { describeWithSlowHttpTest } from '../support/describe-with.js';
import { spawnOwned, sleep } from '../support/processes.js';
import { findSlowHttpTest } from '../support/servers.js';

const CONNECTIONS = 1_000;
const SECONDS = 6;
/** Escape sequences for colors and cursor movements. */
// oxlint-disable-next-line no-control-regex
const ANSI = /\u001b\[[\d;]*[A-Za-z]/g;
const LONGEST_ANSWER_MS = 1_000;

describeWithSlowHttpTest('an attack by slowhttptest delays other requests by less than a second', () => {
  let gateway: OwnProxied;
  beforeAll(async () => {
    gateway = await startProxied({ own: true, config: { gateway: { limits: { connectionsPerAddress: 0 } } } });
    gateway.answerWith((_request, response) => response.end('x'.repeat(100_000)));
  });
  afterAll(() => gateway.stop());

  it.each<[string, (url: string, key: string) => string[]]>([
    ['heads that never end (-H)', () => ['-H', '-i', '2', '-u', `${gateway.url}/open`]],
    [
      'bodies that never end (-B), behind a key',
      (_url, key) => [
        '-B',
        '-i',
        '2',
        '-s',
        '8192',
        '-m',
        `*/*\r\nAuthorization: ${key}`,
        '-u',
        `${gateway.url}/customers`,
      ],
    ],
    [
      'answers that are read byte by byte (-X), of pages that need no key',
      () => ['-X', '-w', '1', '-y', '512', '-n', '2', '-z', '5', '-k', '3', '-u', `${gateway.url}/openapi.json`],
    ],
  ])('%s', async (_mode, options) => {
    const { key } = await gateway.trailgate.admin.newKey();
    const args = ['-c', String(CONNECTIONS), '-r', '500', '-l', String(SECONDS), '-p', '3'];
    const attack = spawnOwned(findSlowHttpTest() ?? '', [...args, ...options(gateway.url, `Bearer ${key.secret}`)]);
    let output = '';
    attack.child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const waits: number[] = [];
    const statuses = new Set<number>();
    while (attack.isRunning()) {
      const startedMs = performance.now();
      const { status } = await send(`${gateway.trailgate.gatewayUrl}/api/v1/openapi.json`, { timeoutMs: 5_000 });
      statuses.add(status);
      waits.push(performance.now() - startedMs);
      await sleep(100);
    }
    await attack.exited;
    expect([...statuses]).toEqual([200]);
    expect(waits.length).toBeGreaterThan(20);
    expect(Math.max(...waits)).toBeLessThan(LONGEST_ANSWER_MS);
    const plain = output.replaceAll(ANSI, '');
    const last = (name: string): number => Number([...plain.matchAll(new RegExp(`${name}: +(\\d+)`, 'g'))].at(-1)?.[1]);
    expect(last('connected') + last('closed')).toBe(CONNECTIONS);
    expect(last('error')).toBe(0);
    expect(new Set(plain.match(/service available: +\w+/g))).toEqual(new Set(['service available:   YES']));
  });
});

/** Guarded connections lead only to checked addresses, whatever a name server returns before or after. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { hasOpenssl, makeAuthority } from '../../../test/support/certificates.js';
import { startDnsServer, type DnsReply, type DnsServer } from '../../../test/support/dns-server.js';
import { outboundRules, parseDestination, type OutboundOptions } from './destination.js';
import { openGuardedSocket, type GuardedSocketOptions } from './guarded-socket.js';
import { nameResolver } from './name-resolver.js';

const ONE_NETWORK: OutboundOptions = { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] };

let dns: DnsServer;
/** Listens on every loopback address and counts connections. */
let receiver: Server;
let port = 0;
let connections = 0;
let bytes = 0;
let replies: (name: string, type: 'A' | 'AAAA') => DnsReply;

beforeAll(async () => {
  dns = await startDnsServer((name, type) => replies(name, type));
  receiver = createServer((socket) => {
    connections += 1;
    socket.on('data', (piece) => (bytes += piece.length)).on('error', () => {});
  }).listen(0, '0.0.0.0');
  await once(receiver, 'listening');
  ({ port } = receiver.address() as AddressInfo);
});

afterAll(async () => {
  await dns.close();
  receiver.close();
});

beforeEach(() => {
  connections = 0;
  bytes = 0;
  dns.questions.length = 0;
  replies = (_name, type) => (type === 'A' ? ['127.0.0.1'] : []);
});

function open(url: string, more: Partial<GuardedSocketOptions> = {}, options = ONE_NETWORK): Promise<Socket> {
  const rules = outboundRules(options);
  const resolve = nameResolver({ servers: [dns.address], timeoutMs: 200 });
  const signal = AbortSignal.timeout(3_000);
  return openGuardedSocket(parseDestination(url, rules), { rules, resolve, connectTimeoutMs: 1_000, ...more }, signal);
}

/** Opens and closes a connection, and returns its address or the error. */
async function outcome(...parameters: Parameters<typeof open>): Promise<string> {
  try {
    const socket = await open(...parameters);
    const { remoteAddress = '' } = socket;
    socket.destroy();
    return remoteAddress;
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
}

describe('a connection by a name', () => {
  it('leads to the checked address', async () => {
    expect(await outcome(`http://hooks.receiver.dev:${port}/`)).toBe('127.0.0.1');
    expect(dns.questions.toSorted()).toEqual(['A hooks.receiver.dev', 'AAAA hooks.receiver.dev']);
  });

  it('is checked each time, so a changed DNS record is refused', async () => {
    const said = [['127.0.0.1'], ['127.0.0.2'], ['169.254.169.254'], ['10.0.0.1'], ['127.0.0.1']];
    replies = (_name, type) => (type === 'A' ? (said.shift() ?? []) : []);
    const outcomes: string[] = [];
    for (let count = 0; count < 5; count++) outcomes.push(await outcome(`http://hooks.receiver.dev:${port}/`));
    expect(outcomes).toEqual(['127.0.0.1', 'loopback', 'link_local', 'private', '127.0.0.1']);
    expect(connections).toBe(2);
  });

  it('resolves once: a DNS change between check and connection has no effect', async () => {
    let asked = 0;
    replies = (_name, type) => {
      asked += 1;
      if (type === 'AAAA') return [];
      return asked <= 2 ? ['127.0.0.1'] : ['127.0.0.2'];
    };
    expect(await outcome(`http://hooks.receiver.dev:${port}/`)).toBe('127.0.0.1');
    expect(asked).toBe(2);
  });

  it.each([
    ['a private address behind one that is allowed', ['127.0.0.1', '10.0.0.1'], [], 'private'],
    ['a private address of the other family', ['127.0.0.1'], ['fd00::1'], 'private'],
    ['IPv4 as IPv6', [], ['::ffff:127.0.0.1'], 'embedded_ipv4'],
    ['metadata of a cloud', ['168.63.129.16'], [], 'cloud_metadata'],
    ['metadata as 6to4', [], ['2002:a9fe:a9fe::1'], 'transition'],
    ['this machine', ['0.0.0.0'], [], 'unspecified'],
  ])('is refused if the name has %s', async (_what, ipv4, ipv6, reason) => {
    replies = (_name, type) => (type === 'A' ? ipv4 : ipv6);
    expect(await outcome(`http://hooks.receiver.dev:${port}/`)).toBe(reason);
    expect(connections).toBe(0);
  });

  it('tries the next address if one does not respond', async () => {
    const both = { allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8', '::1/128'] };
    replies = (_name, type) => (type === 'A' ? ['127.0.0.1'] : ['::1']);
    const closed = createServer().listen(0, '::1');
    await once(closed, 'listening');
    const { port: ipv6Port } = closed.address() as AddressInfo;
    expect(await outcome(`http://hooks.receiver.dev:${ipv6Port}/`, {}, both)).toBe('::1');
    closed.close();
  });

  it.each([
    ['that there is no such name', 'NXDOMAIN', 'name_not_found'],
    ['that it has failed', 'SERVFAIL', 'name_unresolved'],
    ['no address', [], 'name_not_found'],
    ['forty addresses', Array.from({ length: 40 }, (_, at) => `127.0.0.${at + 1}`), 'name_unresolved'],
  ] as const)('fails if the name server says %s', async (_what, said, reason) => {
    replies = () => said;
    expect(await outcome(`http://hooks.receiver.dev:${port}/`)).toBe(reason);
  });

  it('fails if the name server does not respond', async () => {
    replies = () => 'silence';
    const rules = outboundRules(ONE_NETWORK);
    const destination = parseDestination(`http://hooks.receiver.dev:${port}/`, rules);
    const options = {
      rules,
      resolve: nameResolver({ servers: [dns.address], timeoutMs: 200 }),
      connectTimeoutMs: 1_000,
    };
    const opening = openGuardedSocket(destination, options, AbortSignal.timeout(200));
    await expect(opening).rejects.toMatchObject({ reason: 'name_unresolved', code: 'timeout' });
  });

  it('for localhost needs no name server', async () => {
    expect(
      await outcome(`http://localhost:${port}/`, {}, { ...ONE_NETWORK, allowPrivateNetworks: ['127.0.0.0/8', '::1'] }),
    ).toBe('127.0.0.1');
    expect(dns.questions).toEqual([]);
  });
});

describe('the peer of a connection', () => {
  it('must have the checked address before the first byte is sent', async () => {
    const elsewhere: GuardedSocketOptions['connect'] = () => connect({ host: '127.0.0.2', port });
    expect(await outcome(`http://127.0.0.1:${port}/`, { connect: elsewhere })).toBe('loopback');
    const allowed = { allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'] };
    expect(await outcome(`http://127.0.0.1:${port}/`, { connect: elsewhere }, allowed)).toBe('connect_failed');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([connections, bytes]).toEqual([2, 0]);
  });

  it('that refuses the connection causes connect_failed', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port: closedPort } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await expect(open(`http://127.0.0.1:${closedPort}/`)).rejects.toMatchObject({
      reason: 'connect_failed',
      code: 'ECONNREFUSED',
    });
  });
});

(hasOpenssl ? describe : describe.skip)('a connection over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'outbound-'));
  const authority = hasOpenssl ? makeAuthority(folder) : undefined;
  const servernames: string[] = [];
  let secure: Server;
  let securePort = 0;

  beforeAll(async () => {
    const files = authority?.issue('receiver', 'hooks.receiver.dev');
    secure = createTlsServer({
      cert: readFileSync(files?.cert ?? ''),
      key: readFileSync(files?.key ?? ''),
      SNICallback: (name, done) => {
        servernames.push(name);
        done(null);
      },
    })
      .on('secureConnection', (socket) => socket.on('error', () => {}))
      .listen(0, '127.0.0.1');
    await once(secure, 'listening');
    ({ port: securePort } = secure.address() as AddressInfo);
  });
  afterAll(() => void secure.close());

  const trusted = () => ({ tls: { ca: readFileSync(authority?.cert ?? '') } });

  it('succeeds with a trusted certificate for the name', async () => {
    expect(await outcome(`https://hooks.receiver.dev:${securePort}/`, trusted())).toBe('127.0.0.1');
    expect(servernames).toEqual(['hooks.receiver.dev']);
  });

  it.each([
    ['of another name', 'other.receiver.dev', true],
    ['of an address', '127.0.0.1', true],
    ['of nobody known', 'hooks.receiver.dev', false],
  ])('is refused with a certificate %s', async (_what, host, isTrusted) => {
    const more = isTrusted ? trusted() : {};
    expect(await outcome(`https://${host}:${securePort}/`, more)).toBe('tls_failed');
  });

  it('reports a wrong certificate even if the other address of the name is unreachable', async () => {
    const both = { allowHttp: false, allowPrivateNetworks: ['127.0.0.0/8', '::1/128'] };
    replies = (_name, type) => (type === 'A' ? ['127.0.0.1'] : ['::1']);
    expect(await outcome(`https://other.receiver.dev:${securePort}/`, trusted(), both)).toBe('tls_failed');
  });

  it('fails if the handshake does not complete', async () => {
    const outcomes = await Promise.all([
      outcome(`https://hooks.receiver.dev:${port}/`, { ...trusted(), connectTimeoutMs: 200 }),
      outcome(`https://127.0.0.1:${port}/`, { ...trusted(), connectTimeoutMs: 200 }),
    ]);
    expect(outcomes).toEqual(['connect_timeout', 'connect_timeout']);
  });
});

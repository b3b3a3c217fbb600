/** Destination URLs: the list of known tricks, and where accepted URLs lead. */
import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { outboundRules, parseDestination, type OutboundOptions } from './destination.js';
import { OutboundRefused } from './outbound-refused.js';

const USUAL: OutboundOptions = { allowHttp: false, allowPrivateNetworks: [] };

function judge(url: string, options: Partial<OutboundOptions> = {}): string {
  try {
    parseDestination(url, outboundRules({ ...USUAL, ...options }));
    return 'ok';
  } catch (error) {
    if (error instanceof OutboundRefused) return error.reason;
    throw error;
  }
}

const LISTED = readFileSync('test/fixtures/destinations.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);

describe('the list of destinations', () => {
  it('has more than 300 different entries', () => {
    expect(new Set(LISTED.map(([, url]) => url)).size).toBe(LISTED.length);
    expect(LISTED.length).toBeGreaterThan(300);
  });

  it('matches the decision for every entry', () => {
    const wrong = LISTED.flatMap(([expected, url]) => {
      const judged = judge(url);
      return judged === expected ? [] : [`${url.slice(0, 80)} is ${judged}, not ${expected}`];
    });
    expect(wrong).toEqual([]);
  });
});

describe('a destination', () => {
  const read = (url: string, options: Partial<OutboundOptions> = {}) =>
    parseDestination(url, outboundRules({ ...USUAL, ...options }));

  it('has the address, the host name and the path of its URL', () => {
    expect(read('https://Hooks.Example.com/a/../b?c=d')).toEqual({
      isSecure: true,
      host: 'hooks.example.com',
      isAddress: false,
      port: 443,
      authority: 'hooks.example.com',
      path: '/b?c=d',
    });
    expect(read('https://bücher.example.org:8443')).toMatchObject({
      host: 'xn--bcher-kva.example.org',
      port: 8443,
      authority: 'xn--bcher-kva.example.org:8443',
      path: '/',
    });
    expect(read('https://[2A00:1450:0:0::200E]/')).toMatchObject({
      host: '2a00:1450::200e',
      isAddress: true,
      authority: '[2a00:1450::200e]',
    });
  });

  it('is refused with a message that continues “The URL” and contains the address', () => {
    const refused = (url: string) => {
      try {
        read(url);
      } catch (error) {
        return (error as Error).message;
      }
      return undefined;
    };
    expect(refused('https://10.0.0.1/')).toBe('leads to a private network (10.0.0.1)');
    expect(refused('https://0x7f.1/')).toBe('has a host that is spelled in an unusual way (127.0.0.1)');
    expect(refused('http://example.com/')).toBe('must begin with https://');
    expect(refused('https://user:secret@example.com/')).not.toContain('secret');
  });

  it('may be plain HTTP if the operator allows it', () => {
    expect(read('http://example.com/', { allowHttp: true })).toMatchObject({ isSecure: false, port: 80 });
    expect(judge('http://10.0.0.1/', { allowHttp: true })).toBe('private');
    expect(judge('http://example.com:25/', { allowHttp: true })).toBe('port');
    expect(judge('ftp://example.com/', { allowHttp: true })).toBe('scheme');
  });

  it('must use a port that the operator allows, if any are listed', () => {
    const allowPorts = [443, 8443];
    expect(judge('https://example.com/', { allowPorts })).toBe('ok');
    expect(judge('https://example.com:8443/', { allowPorts })).toBe('ok');
    expect(judge('https://example.com:9000/', { allowPorts })).toBe('port');
    expect(judge('https://example.com:25/', { allowPorts: [25] })).toBe('ok');
    expect(judge('https://example.com/', { allowPorts: [] })).toBe('port');
  });

  it('must not be in a denied network, even within an allowed one', () => {
    const options = { allowPrivateNetworks: ['10.0.0.0/8'], denyNetworks: ['10.9.0.0/16', '93.184.0.0/16'] };
    expect(judge('https://10.1.0.1/', options)).toBe('ok');
    expect(judge('https://10.9.0.1/', options)).toBe('denied');
    expect(judge('https://93.184.215.14/', options)).toBe('denied');
    expect(judge('https://93.184.215.14/')).toBe('ok');
  });

  it('can use any port except those that browsers block', async () => {
    const fetchConstants = 'undici/lib/web/fetch/constants.js';
    const { default: constants } = (await import(fetchConstants)) as { default: { badPorts: readonly string[] } };
    const refused = Array.from({ length: 65_535 }, (_, index) => index + 1).filter(
      (port) => judge(`https://example.com:${port}/`) === 'port',
    );
    expect(refused).toEqual(constants.badPorts.map(Number));
  });

  it('can be a private name if private networks are allowed, because its addresses are checked later', () => {
    const options = { allowPrivateNetworks: ['10.1.0.0/16'] };
    for (const url of ['https://receiver/', 'https://a.internal/', 'https://localhost:9000/'])
      expect(judge(url, options)).toBe('ok');
    expect(judge('https://receiver./', options)).toBe('trailing_dot');
    expect(judge('https://10.1.2.3/', options)).toBe('ok');
    expect(judge('https://10.2.0.1/', options)).toBe('private');
    expect(judge('https://2130706433/', { allowPrivateNetworks: ['127.0.0.0/8'] })).toBe('host_spelling');
  });
});

/** Parsing of stored lists. */
import { expect, it } from '@jest/globals';
import type { Logger } from '../platform/log.js';
import { AllowedNetworks } from './allowed-networks.js';

it('an empty list allows all addresses', () => {
  expect(new AllowedNetworks(undefined).read([], 'key_1')).toBeUndefined();
});

it('an unreadable entry matches no address, and is logged once per key', () => {
  const logged: unknown[] = [];
  const networks = new AllowedNetworks({ warn: (line: unknown) => logged.push(line) } as unknown as Logger);
  for (let time = 0; time < 3; time++) {
    const list = networks.read(['::ffff:203.0.113.0/24', '192.0.2.7'], 'key_1');
    expect([list?.holds('127.0.0.1'), list?.holds('203.0.113.7'), list?.holds('192.0.2.7')]).toEqual([
      false,
      false,
      true,
    ]);
  }
  expect(networks.read(['x'], 'tok_1')?.holds('127.0.0.1')).toBe(false);
  expect(logged).toEqual([
    { event: 'allowed_ips_unreadable', owner: 'key_1', entry: '::ffff:203.0.113.0/24' },
    { event: 'allowed_ips_unreadable', owner: 'tok_1', entry: 'x' },
  ]);
});

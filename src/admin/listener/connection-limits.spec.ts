/** Limits of connections to the admin listener per network. */
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { expect, it } from '@jest/globals';
import { trustsOf } from '../../keys/clients/client-address.js';
import { limitConnections } from './connection-limits.js';

/** A connection with the members that the limits read. */
class FakeSocket extends EventEmitter {
  isCut = false;
  constructor(readonly remoteAddress: string) {
    super();
  }

  destroy(): void {
    this.isCut = true;
    this.emit('close');
  }
}

function connectionsOf(connectionsPerAddress: number, trustedProxies: readonly string[] = []) {
  const server = new EventEmitter() as unknown as Server;
  limitConnections(server, { connections: 9, connectionsPerAddress }, trustsOf(trustedProxies));
  const open = (address: string): FakeSocket => {
    const socket = new FakeSocket(address);
    server.emit('connection', socket as never);
    return socket;
  };
  return { server, open };
}

const cutOf = (sockets: readonly FakeSocket[]) => sockets.map(({ isCut }) => isCut);

it('caps connections per address, counts IPv4-mapped addresses as IPv4, and frees slots on close', () => {
  const { server, open } = connectionsOf(2);
  expect(server.maxConnections).toBe(9);
  const sockets = ['203.0.113.9', '::ffff:203.0.113.9', '203.0.113.9', '203.0.113.10'].map(open);
  expect(cutOf(sockets)).toEqual([false, false, true, false]);
  sockets[0]?.emit('close');
  expect(cutOf([open('203.0.113.9'), open('203.0.113.9')])).toEqual([false, true]);
});

it('counts an IPv6 /64 network as one address', () => {
  const { open } = connectionsOf(1);
  expect(cutOf(['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map(open))).toEqual([false, true, false]);
});

it('does not limit trusted proxies or loopback addresses', () => {
  const { open } = connectionsOf(1, ['10.0.0.0/8']);
  const sockets = ['10.0.0.7', '::ffff:10.0.0.7', '127.0.0.1', '127.0.0.1', '::1', '::1'].map(open);
  expect(cutOf(sockets)).not.toContain(true);
});

it('does not limit connections if connectionsPerAddress is 0', () => {
  const { open } = connectionsOf(0);
  expect(cutOf(Array.from({ length: 5 }, () => open('203.0.113.9')))).not.toContain(true);
});

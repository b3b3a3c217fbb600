/** Starts a DNS server over UDP, whose replies the test chooses. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { ipv6Groups } from '../../src/platform/network-list.js';

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 } as const;

/** Addresses of the requested family, an error code, or no reply at all. */
export type DnsReply = readonly string[] | keyof typeof CODES | 'silence';

export interface DnsServer {
  /** Address and port, in the format of `Resolver.setServers`. */
  readonly address: string;
  /** Queries received so far, such as `A example.com`. */
  readonly questions: string[];
  close(): Promise<void>;
}

/** Starts a server on 127.0.0.1. It ignores queries for types other than A and AAAA. The caller must close it. */
export async function startDnsServer(replyTo: (name: string, type: 'A' | 'AAAA') => DnsReply): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, from) => {
    const { name, end } = nameIn(query);
    const type = TYPES[query.readUInt16BE(end)];
    if (type === undefined) return;
    questions.push(`${type} ${name}`);
    const said = replyTo(name, type);
    if (said !== 'silence') socket.send(packetOf(query, end + 4, said), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function nameIn(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

function packetOf(query: Buffer, questionEnd: number, said: Exclude<DnsReply, 'silence'>): Buffer {
  const addresses = typeof said === 'string' ? [] : said;
  const head = Buffer.from(query.subarray(0, questionEnd));
  head.writeUInt16BE(0x8180 + (typeof said === 'string' ? CODES[said] : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...addresses.map(recordOf)]);
}

/** Returns an A or AAAA record for the queried name, with a TTL of 0. */
function recordOf(address: string): Buffer {
  const data = isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(ipv6Groups(address).flatMap((group) => [group >> 8, group & 0xff]));
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(data.length === 4 ? 1 : 28, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

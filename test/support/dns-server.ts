/** A name server of the test's own, which replies to each question as it is told to. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { ipv6Groups } from '../../src/platform/network-list.js';

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };
const CODES = { NXDOMAIN: 3, SERVFAIL: 2 } as const;

/** Addresses of the family that is asked for, an error, or silence. */
export type DnsReply = readonly string[] | keyof typeof CODES | 'silence';

export interface DnsServer {
  /** Address in the form of `Resolver.setServers`. */
  readonly address: string;
  /** Questions so far, such as `A example.com`. */
  readonly questions: string[];
  close(): Promise<void>;
}

/** Starts one on loopback. */
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

/** Returns the record of the requested name, with a time to live of 0. */
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

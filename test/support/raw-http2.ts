/**
 * HTTP/2 frame by frame (RFC 9113), for messages that no library would send. Fields are sent as literals without
 * indexing (RFC 7541 section 6.2.2).
 */
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { Duplex } from 'node:stream';

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 } as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;
const ACK = 1;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Returns the bytes of a frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string);
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** Returns a field block with these names and values, unchanged and in Latin-1. */
export function fieldBlock(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const length: number[] = [];
  if (bytes.length < 127) {
    length.push(bytes.length);
  } else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export interface RawHttp2 {
  readonly socket: Duplex;
  /** All received frames, in order. */
  readonly frames: Frame[];
  send(...frames: readonly Buffer[]): void;
  /** Returns the state of the response on a stream, and its body so far as text. */
  answer(stream: number): {
    readonly begun: boolean;
    readonly ended: boolean;
    readonly reset: boolean;
    readonly text: string;
  };
}

/**
 * Starts HTTP/2 on a connection. Acknowledges the server's settings, but sends no window updates by itself.
 * @param windowBytes initial window of each stream: how much of a response the server may send without an update.
 */
export function speakRawHttp2(socket: Duplex, windowBytes = 65_535): RawHttp2 {
  const frames: Frame[] = [];
  let unread = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    unread = Buffer.concat([unread, chunk]);
    while (unread.length >= 9 && unread.length >= 9 + unread.readUIntBE(0, 3)) {
      const end = 9 + unread.readUIntBE(0, 3);
      const [type = 0, flags = 0] = unread.subarray(3, 5);
      frames.push({ type, flags, stream: unread.readUInt32BE(5) & 0x7fffffff, payload: unread.subarray(9, end) });
      unread = unread.subarray(end);
      if (type === FRAME.settings && flags !== ACK) socket.write(frame(FRAME.settings, ACK, 0));
    }
  });
  const initialWindow = Buffer.alloc(6);
  initialWindow.writeUInt16BE(4);
  initialWindow.writeUInt32BE(windowBytes, 2);
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, initialWindow)]));
  return {
    socket,
    frames,
    send: (...more) => void socket.write(Buffer.concat(more)),
    answer: (stream) => {
      const own = frames.filter((each) => each.stream === stream);
      const data = own.filter(({ type }) => type === FRAME.data);
      return {
        begun: own.some(({ type }) => type === FRAME.headers),
        ended: own.some(({ type, flags }) => type <= FRAME.headers && (flags & END_STREAM) !== 0),
        reset: own.some(({ type }) => type === FRAME.reset),
        text: Buffer.concat(data.map(({ payload }) => payload)).toString(),
      };
    },
  };
}

/** Connects over TLS to a port of 127.0.0.1. Accepts any certificate. */
export async function connectRawHttp2(port: number, windowBytes?: number): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return speakRawHttp2(socket, windowBytes);
}

/**
 * HTTP/2 beside HTTP/1.1 on the TLS listener (RFC 9113). The connection's ALPN decides; a request of either version
 * takes the same path, because those of HTTP/2 are given the shape that the steps know from HTTP/1.1.
 */
import type { Server } from 'node:https';
import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { ReadableOptions } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { StreamResponse } from '../request/http2-response.js';
import type { Http2Sessions } from './http2-sessions.js';

export const ALPN_PROTOCOLS = ['h2', 'http/1.1'];

const MOST_CONCURRENT_STREAMS = 100;
const LARGEST_HEAD_BYTES = 16 * 1024;
const LARGEST_SENT_HEAD_BYTES = 1024 * 1024;
/**
 * What a client may send ahead of a backend that reads slowly: by each request, and by all of a connection together.
 */
const WINDOW_BYTES = 1024 * 1024;

/**
 * A request of HTTP/2 as HTTP/1.1 would have brought it: with `Host`, without pseudo-fields, its cookies in one field.
 */
class GatewayHttp2Request extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    const authority = headers[':authority'];
    // RFC 9113 section 8.3.1: Host may be left out; where both are there and differ, framing sees two and refuses.
    const host = headers.host === undefined || headers.host === authority ? authority : undefined;
    if (host !== undefined) headers.host = host;
    // There is no Transfer-Encoding in HTTP/2: a body whose length nobody knows goes on in chunks.
    if (!(stream as { endAfterHeaders?: boolean }).endAfterHeaders && headers['content-length'] === undefined) {
      headers['transfer-encoding'] = 'chunked';
    }
    super(stream, headers, options, plainFields(rawHeaders, authority, host));
  }
}

class GatewayHttp2Response extends Http2ServerResponse implements StreamResponse {
  isWhole = false;

  /** Fields of a head that could not be written must not stand in the way of the one that is written instead. */
  override writeHead(status: number, messageOrFields?: unknown, fields?: unknown): this {
    try {
      return super.writeHead(status, messageOrFields as string, fields as OutgoingHttpHeaders);
    } catch (error) {
      if (!this.headersSent) for (const name of this.getHeaderNames()) this.removeHeader(name);
      throw error;
    }
  }

  /**
   * A response that is cut short must not look complete: the stream is reset, the
   * other requests of the connection go on.
   */
  override destroy(): this {
    const { stream } = this;
    if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return this;
  }
}

// A client that resets a stream makes Node end it: what we have not ended ourselves has not been answered.
Object.defineProperty(GatewayHttp2Response.prototype, 'writableFinished', {
  get(this: GatewayHttp2Response) {
    return (this.isWhole || this.writableEnded) && this.stream.writableFinished;
  },
});

// Node's class does not have what its HTTP/1.1 twin has.
Object.defineProperty(GatewayHttp2Response.prototype, 'destroyed', {
  get(this: GatewayHttp2Response) {
    return this.stream.destroyed;
  },
});

const OPTIONS: ServerOptions = {
  // What a backend says twice (`X-Content-Type-Options`, by itself and by what stands
  // before it) is passed on as over HTTP/1.1.
  strictSingleValueFields: false,
  // All that a backend's head may hold (64 KiB), however many fields that are; more than
  // Node's 64 KiB would end the connection.
  maxSendHeaderBlockLength: LARGEST_SENT_HEAD_BYTES,
  Http2ServerRequest: GatewayHttp2Request as unknown as typeof Http2ServerRequest,
  Http2ServerResponse: GatewayHttp2Response as unknown as typeof Http2ServerResponse,
  settings: {
    enablePush: false,
    maxConcurrentStreams: MOST_CONCURRENT_STREAMS,
    maxHeaderListSize: LARGEST_HEAD_BYTES,
    initialWindowSize: WINDOW_BYTES,
  },
};

/**
 * Makes a TLS server answer connections that negotiated `h2` as well; the requests reach its own listeners.
 * @param takeHttp1 given what Node does with a connection of HTTP/1.1, returns what is done with it here.
 */
export function speakHttp2(
  server: Server,
  sessions: Http2Sessions,
  takeHttp1: (nodes: (socket: TLSSocket) => void) => (socket: TLSSocket) => void,
): void {
  const http2 = createServer(OPTIONS);
  let accepted: TLSSocket | undefined;
  http2.on('session', (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    if (accepted !== undefined) sessions.add(session, accepted);
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    http2.on(event, (message: unknown, response: unknown) => void server.emit(event, message, response));
  }
  const nodes = server.listeners('secureConnection') as ((this: Server, socket: TLSSocket) => void)[];
  const speakHttp1 = takeHttp1((socket) => nodes.forEach((listener) => listener.call(server, socket)));
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') {
      accepted = socket;
      http2.emit('connection', socket);
      accepted = undefined;
    } else speakHttp1(socket);
  });
}

/** Fields as they came, without the pseudo-fields; crumbs of cookies in one field again (RFC 9113 section 8.2.3). */
function plainFields(rawHeaders: readonly string[], authority: string | undefined, host: string | undefined): string[] {
  const fields: string[] = [];
  const cookies: string[] = [];
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (name.startsWith(':')) continue;
    if (name === 'cookie') {
      cookies.push(value);
      continue;
    }
    if (name === 'host') hosts += 1;
    fields.push(name, value);
  }
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '));
  if (authority !== undefined && (hosts === 0 || host === undefined)) fields.push('host', authority);
  return fields;
}

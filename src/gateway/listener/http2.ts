/**
 * Serves HTTP/2 on the TLS listener in addition to HTTP/1.1 (RFC 9113). ALPN selects the version. Requests are
 * converted to the form of HTTP/1.1, so that both versions use the same request path.
 */
import type { Server } from 'node:https';
import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { GatewayHttp2Request, StreamRequest } from '../request/http2-message.js';
import { GatewayHttp2Response } from '../request/http2-response.js';
import { UnadmittedStreams } from '../request/unadmitted-streams.js';
import type { Http2Sessions } from './http2-sessions.js';

export const ALPN_PROTOCOLS = ['h2', 'http/1.1'];

const MAX_CONCURRENT_STREAMS = 100;
const LARGEST_HEAD_BYTES = 16 * 1024;
const LARGEST_SENT_HEAD_BYTES = 1024 * 1024;
/** Flow control window, per request and per connection. Limits how much a client can send while the backend is slow. */
const WINDOW_BYTES = 1024 * 1024;

const OPTIONS: ServerOptions = {
  // Allow repeated fields such as `X-Content-Type-Options`, as HTTP/1.1 does.
  strictSingleValueFields: false,
  // Enough for the largest response head of a backend (64 KiB) with any number of fields. Beyond its default limit,
  // Node would end the connection.
  maxSendHeaderBlockLength: LARGEST_SENT_HEAD_BYTES,
  Http2ServerRequest: GatewayHttp2Request as unknown as typeof Http2ServerRequest,
  Http2ServerResponse: GatewayHttp2Response as unknown as typeof Http2ServerResponse,
  settings: {
    enablePush: false,
    maxConcurrentStreams: MAX_CONCURRENT_STREAMS,
    maxHeaderListSize: LARGEST_HEAD_BYTES,
    initialWindowSize: WINDOW_BYTES,
  },
};

/** ServeStream serves an HTTP/2 request. Returns false without using the request if Node must handle it. */
export type ServeStream = (request: StreamRequest) => boolean;

/** StreamListener is Node's listener that creates the request and response objects for a stream. */
type StreamListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Adds HTTP/2 to a TLS server. Requests that `serve` does not handle reach the server's own listeners.
 * @param wrapHttp1Handler receives Node's handler of HTTP/1.1 connections and returns its replacement
 * @returns a function that stops the checks of unadmitted streams
 */
export function speakHttp2(
  server: Server,
  sessions: Http2Sessions,
  serve: ServeStream,
  wrapHttp1Handler: (nodeListener: (socket: TLSSocket) => void) => (socket: TLSSocket) => void,
): () => void {
  const http2 = createServer(OPTIONS);
  const unadmitted = new UnadmittedStreams();
  // Socket whose session is being created. The `session` event does not provide the TLS socket itself.
  let accepted: TLSSocket | undefined;
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    http2.on(event, (message: unknown, response: unknown) => void server.emit(event, message, response));
  }
  const nodeStreamListeners = http2.listeners('stream') as StreamListener[];
  http2.removeAllListeners('stream');
  http2.on('session', (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    const socket = accepted;
    if (socket === undefined) return;
    sessions.add(session, socket);
    unadmitted.trackSession(session);
    const onStream: StreamListener = (stream, headers, flags, rawHeaders) => {
      if (!unadmitted.checkNewStream(session, stream)) return;
      const request = StreamRequest.fromStream(stream, headers, rawHeaders, socket);
      if (request === undefined || !serve(request)) {
        for (const listener of nodeStreamListeners) listener.call(http2, stream, headers, flags, rawHeaders);
      }
      unadmitted.countStream(session, stream, rawHeaders);
    };
    session.on('stream', onStream);
  });
  const nodeListeners = server.listeners('secureConnection') as ((this: Server, socket: TLSSocket) => void)[];
  const handleHttp1 = wrapHttp1Handler((socket) => nodeListeners.forEach((listener) => listener.call(server, socket)));
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') {
      accepted = socket;
      http2.emit('connection', socket);
      accepted = undefined;
    } else handleHttp1(socket);
  });
  return () => unadmitted.stop();
}

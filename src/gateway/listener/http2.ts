/**
 * HTTP/2 beside HTTP/1.1 on the TLS listener (RFC 9113). The connection's ALPN decides; a request of either version
 * takes the same path, because those of HTTP/2 are given the shape that the steps know from HTTP/1.1.
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

const MOST_CONCURRENT_STREAMS = 100;
const LARGEST_HEAD_BYTES = 16 * 1024;
const LARGEST_SENT_HEAD_BYTES = 1024 * 1024;
/**
 * What a client may send ahead of a backend that reads slowly: by each request, and by all of a connection together.
 */
const WINDOW_BYTES = 1024 * 1024;

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

/** Whoever serves a request that is its stream; false: it is left untouched. */
export type ServeStream = (request: StreamRequest) => boolean;

/** What Node does with a stream: it makes a request and a response of it. */
type NodesListener = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
) => void;

/**
 * Makes a TLS server respond on connections that negotiated `h2` as well; the requests reach its own listeners, but for
 * those that are served as their streams.
 * @param takeHttp1 given what Node does with a connection of HTTP/1.1, returns what is done with it here.
 * @returns stops what runs beside the connections.
 */
export function speakHttp2(
  server: Server,
  sessions: Http2Sessions,
  serve: ServeStream,
  takeHttp1: (nodes: (socket: TLSSocket) => void) => (socket: TLSSocket) => void,
): () => void {
  const http2 = createServer(OPTIONS);
  const unadmitted = new UnadmittedStreams();
  let accepted: TLSSocket | undefined;
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
    http2.on(event, (message: unknown, response: unknown) => void server.emit(event, message, response));
  }
  const nodesStreams = http2.listeners('stream') as NodesListener[];
  http2.removeAllListeners('stream');
  http2.on('session', (session) => {
    session.setLocalWindowSize(WINDOW_BYTES);
    const socket = accepted;
    if (socket === undefined) return;
    sessions.add(session, socket);
    unadmitted.open(session);
    const onStream: NodesListener = (stream, headers, flags, rawHeaders) => {
      if (!unadmitted.begin(session, stream)) return;
      const request = StreamRequest.of(stream, headers, rawHeaders, socket);
      if (request === undefined || !serve(request)) {
        for (const listener of nodesStreams) listener.call(http2, stream, headers, flags, rawHeaders);
      }
      unadmitted.hold(session, stream, rawHeaders);
    };
    session.on('stream', onStream);
  });
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
  return () => unadmitted.stop();
}

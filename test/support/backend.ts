/** Starts backends for tests: an HTTP server that records its requests, and a TCP server with raw sockets. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Maximum number of body bytes that are kept. The recorded length and hash always cover the whole body. */
const KEPT_BODY_BYTES = 64 * 1024;

/** A request as the backend received it. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query string, exactly as received. */
  readonly url: string;
  readonly httpVersion: string;
  /** Header names and values in turn, exactly as received. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  /** Number of body bytes received so far. The body is complete when the handler runs, unless `atOnce` is set. */
  bodyBytes: number;
  /** Hash in lower-case hexadecimal. Set after the body has ended. */
  bodySha256?: string;
  /** The first 64 KiB of the body. */
  body: Buffer;
  trailers: IncomingMessage['trailers'];
  /** Whether the connection closed before the response was complete. */
  aborted: boolean;
}

export type BackendHandler = (request: IncomingMessage, response: ServerResponse, recorded: RecordedRequest) => unknown;

export interface BackendOptions {
  readonly port?: number;
  /** If true, calls the handler after the request head. The handler must read the body. */
  readonly atOnce?: boolean;
}

export interface Backend {
  readonly url: string;
  readonly port: number;
  /** All requests, in order of arrival. */
  readonly requests: RecordedRequest[];
  /** Closes the server and all connections. */
  stop(): Promise<void>;
}

/** Counts and hashes body bytes as they arrive, without making the stream flow. */
function record(request: IncomingMessage, response: ServerResponse): RecordedRequest {
  const hash = createHash('sha256');
  const recorded: RecordedRequest = {
    method: request.method ?? '',
    url: request.url ?? '',
    httpVersion: request.httpVersion,
    rawHeaders: request.rawHeaders,
    headers: request.headers,
    bodyBytes: 0,
    body: Buffer.alloc(0),
    trailers: {},
    aborted: false,
  };
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      recorded.bodySha256 = hash.digest('hex');
      recorded.trailers = request.trailers;
    } else {
      hash.update(chunk);
      recorded.bodyBytes += chunk.length;
      const room = KEPT_BODY_BYTES - recorded.body.length;
      if (room > 0) recorded.body = Buffer.concat([recorded.body, chunk.subarray(0, room)]);
    }
    return push(chunk);
  };
  response.on('close', () => (recorded.aborted = !response.writableFinished));
  return recorded;
}

async function listen(server: Server, port: number): Promise<{ url: string; port: number }> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const taken = (server.address() as AddressInfo).port;
  return { url: `http://127.0.0.1:${taken}`, port: taken };
}

/**
 * Starts an HTTP backend. By default, the handler runs after the whole request has arrived. The caller must stop it.
 */
export async function startBackend(handler: BackendHandler, options: BackendOptions = {}): Promise<Backend> {
  const requests: RecordedRequest[] = [];
  const server = createHttpServer(async (request, response) => {
    const recorded = record(request, response);
    requests.push(recorded);
    request.on('error', () => {}); // an aborted upload is visible as `aborted`
    try {
      if (options.atOnce !== true) {
        request.resume();
        await once(request, 'end');
      }
      await handler(request, response, recorded);
    } catch (error) {
      if (!request.destroyed) console.error('the handler of a test backend failed', error);
      response.destroy();
    }
  });
  const address = await listen(server, options.port ?? 0);
  return {
    ...address,
    requests,
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** Returns a handler that responds with `value` as JSON. */
export function json(value: unknown, status = 200): BackendHandler {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
}

export interface RawBackend {
  readonly url: string;
  readonly port: number;
  /** Number of accepted connections. */
  readonly connections: number;
  stop(): Promise<void>;
}

/**
 * Starts a TCP server that passes each connection to `onSocket`, with its index from 0. For invalid responses, resets
 * and silence. The caller must stop it.
 */
export async function startRawBackend(onSocket: (socket: Socket, index: number) => void): Promise<RawBackend> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
    onSocket(socket, connections++);
  });
  const address = await listen(server, 0);
  return {
    ...address,
    get connections() {
      return connections;
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of open) socket.destroy();
      }),
  };
}

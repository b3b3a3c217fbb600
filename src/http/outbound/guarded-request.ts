/**
 * Sends one request to a destination that a customer or another party has chosen, such as a webhook. Returns the
 * status, the fields and the start of the body. Size and time are limited, and redirects are not followed.
 */
import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Destination } from './destination.js';
import { connectGuarded, wasClosedWhileIdle, type GuardedArgs, type GuardedConnections } from './guarded-agent.js';
import type { GuardedSocketOptions } from './guarded-socket.js';
import { codeOf, OutboundFailed } from './outbound-failed.js';
import { OutboundRefused } from './outbound-refused.js';

const LARGEST_HEAD_BYTES = 16 * 1024;
/** Maximum size of a response body that is read. */
const LARGEST_BODY_BYTES = 64 * 1024;
/**
 * Time limit for reading the body after the head. The status is known by then, and the body is only shown to people.
 */
const BODY_TIMEOUT_MS = 1_000;
const MAX_INTERIM = 8;

export interface GuardedRequest {
  readonly destination: Destination;
  readonly method: 'POST' | 'GET';
  /** Header fields without `Host`, `Content-Length` and `Connection`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Time limit for the whole request, from the DNS look-up to the end of the response. */
  readonly timeoutMs: number;
  /** Maximum size of the start of the response body that is returned. */
  readonly keepBytes: number;
}

export interface GuardedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Start of the body as received. A content coding is not decoded. */
  readonly body: Buffer;
  /** IP address of the receiver. Empty if the address is no longer known. */
  readonly address: string;
}

export interface GuardedSendOptions extends GuardedSocketOptions {
  /** Pool of connections to reuse. If undefined, each request opens its own connection. */
  readonly connections?: GuardedConnections | undefined;
  /** Time limit for reading the body. Default: one second. */
  readonly bodyTimeoutMs?: number | undefined;
}

/**
 * Sends a request. If a reused connection turns out to be closed, sends the request once more on a new connection.
 * @throws OutboundRefused if the destination is not allowed.
 * @throws OutboundFailed if no response arrived.
 */
export async function sendGuarded(request: GuardedRequest, options: GuardedSendOptions): Promise<GuardedResponse> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), request.timeoutMs);
  let sending: Sending | undefined;
  let response: IncomingMessage | undefined;
  try {
    sending = send(request, options, abort.signal);
    response = await sending.response.catch((error: unknown) => {
      if (abort.signal.aborted || sending?.hasClosedIdle(error) !== true) throw error;
      // Use a new connection, because other idle connections may be closed, too.
      sending = send(request, { ...options, connections: undefined }, abort.signal);
      return sending.response;
    });
    const { remoteAddress: address = '' } = response.socket;
    const body = await readBodyStart(response, request.keepBytes, options.bodyTimeoutMs);
    return { statusCode: response.statusCode ?? 0, headers: response.headers, body, address };
  } catch (error) {
    throw abort.signal.aborted ? timeoutError(error) : error;
  } finally {
    clearTimeout(timer);
    sending?.end(response);
  }
}

/**
 * Returns the error to report after an abort, which can cause various errors. The result is a timeout, except if the
 * name was still being resolved.
 */
function timeoutError(error: unknown): unknown {
  return error instanceof OutboundFailed && error.reason === 'name_unresolved'
    ? error
    : new OutboundFailed('response_timeout');
}

interface Sending {
  readonly response: Promise<IncomingMessage>;
  /** Reports whether the request failed because its reused connection had already been closed. */
  hasClosedIdle(error: unknown): boolean;
  /** Releases the connection. It can be reused only if request and response are complete. */
  end(response: IncomingMessage | undefined): void;
}

function send(request: GuardedRequest, options: GuardedSendOptions, signal: AbortSignal): Sending {
  const { destination, method, headers, body } = request;
  const { connections, ...guard } = options;
  const args: GuardedArgs = {
    destination,
    abort: signal,
    method,
    path: destination.path,
    headers: {
      ...headers,
      host: destination.authority,
      'content-length': String(body.length),
      connection: connections === undefined ? 'close' : 'keep-alive',
    },
    maxHeaderSize: LARGEST_HEAD_BYTES,
    setHost: false,
    insecureHTTPParser: false,
    // Neither `createConnection` nor the agent uses a proxy.
    ...(connections === undefined
      ? { createConnection: (_options, callback) => connectGuarded(args, guard, callback) }
      : { agent: connections.agentFor(guard.rules) }),
  };
  const message = httpRequest(args);
  const response = responseTo(message, signal);
  message.end(body);
  return {
    response,
    hasClosedIdle: (error) => wasClosedWhileIdle(message, error),
    end: (received) => {
      if (received?.complete !== true || !message.writableFinished) message.destroy();
    },
  };
}

function responseTo(message: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interim = 0;
    let hasResponse = false;
    // Before there is a socket, `openGuardedSocket` handles the abort and reports a more precise error.
    const onAbort = (): void => void message.destroy(new OutboundFailed('response_timeout'));
    message.on('socket', () => {
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    message.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) message.destroy(new OutboundFailed('malformed_response', 'interim responses'));
    });
    message.on('response', (received) => {
      hasResponse = true;
      resolve(received);
    });
    message.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new OutboundFailed('malformed_response', 'upgrade'));
    });
    message.on('error', (error) => reject(failureOf(error)));
    message.on('close', () => {
      signal.removeEventListener('abort', onAbort);
      // Every request ends with this event. Create an error, with its stack trace, only if there was no response.
      if (!hasResponse) reject(new OutboundFailed('connection_closed'));
    });
  });
}

/**
 * Resolves to the start of the body when the body has ended, failed, reached the size limit or taken too long. Never
 * rejects.
 */
function readBodyStart(response: IncomingMessage, keepBytes: number, timeoutMs = BODY_TIMEOUT_MS): Promise<Buffer> {
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let keptBytes = 0;
    let readBytes = 0;
    const done = (): void => {
      clearTimeout(timer);
      response.removeAllListeners('data');
      resolve(Buffer.concat(kept));
    };
    const timer = setTimeout(done, timeoutMs);
    response.on('data', (piece: Buffer) => {
      readBytes += piece.length;
      const part = piece.subarray(0, keepBytes - keptBytes);
      // Copy the part, because a small slice would keep the whole buffer in memory.
      if (part.length > 0) kept.push(Buffer.from(part));
      keptBytes += part.length;
      if (readBytes > LARGEST_BODY_BYTES) done();
    });
    response.once('end', done);
    response.once('close', done);
    response.on('error', done);
  });
}

function failureOf(error: Error): Error {
  if (error instanceof OutboundFailed || error instanceof OutboundRefused) return error;
  const code = codeOf(error);
  if (code === 'HPE_HEADER_OVERFLOW') return new OutboundFailed('head_too_large');
  if (code?.startsWith('HPE_') === true) return new OutboundFailed('malformed_response', code);
  return new OutboundFailed('connection_closed', code);
}

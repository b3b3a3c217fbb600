/**
 * Sends one request to a destination that a stranger has chosen, and reads of the response what is needed: its status,
 * its fields, the beginning of its body. Everything is bounded; nothing is followed.
 */
import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Destination } from './destination.js';
import { connectGuarded, wasClosedWhileIdle, type GuardedArgs, type GuardedConnections } from './guarded-agent.js';
import type { GuardedSocketOptions } from './guarded-socket.js';
import { codeOf, OutboundFailed } from './outbound-failed.js';
import { OutboundRefused } from './outbound-refused.js';

/** Of the head of a response. */
const LARGEST_HEAD_BYTES = 16 * 1024;
/** Of a body; behind that nothing more is read. */
const LARGEST_BODY_BYTES = 64 * 1024;
/** Behind the head of a response: the status is known, and the rest is for people to read. */
const BODY_TIMEOUT_MS = 1_000;
/** Interim responses before the one that counts. */
const MOST_INTERIM = 8;

/** What is sent. */
export interface GuardedRequest {
  readonly destination: Destination;
  readonly method: 'POST' | 'GET';
  /** Without `Host` and `Content-Length`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** For all of it, from the look-up of the name to the end of the response. */
  readonly timeoutMs: number;
  /** How much of the response's body is kept. */
  readonly keepBytes: number;
}

/** What comes back. */
export interface GuardedResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Its beginning, as it came. */
  readonly body: Buffer;
  /** Which address it came from. */
  readonly address: string;
}

/** How a request finds its connection. */
export interface GuardedSendOptions extends GuardedSocketOptions {
  /** Kept connections; without them each request has one of its own. */
  readonly connections?: GuardedConnections | undefined;
  /** How long is waited for the beginning of a body; a second unless said. */
  readonly bodyTimeoutMs?: number | undefined;
}

/**
 * Sends a request.
 * @throws OutboundRefused where it would lead to where it must not; OutboundFailed where no response came.
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
      // Not on another one that was idle: that may be closed as well.
      sending = send(request, { ...options, connections: undefined }, abort.signal);
      return sending.response;
    });
    const { remoteAddress: address = '' } = response.socket;
    const body = await beginningOf(response, request.keepBytes, options.bodyTimeoutMs);
    return { statusCode: response.statusCode ?? 0, headers: response.headers, body, address };
  } catch (error) {
    throw abort.signal.aborted ? lateness(error) : error;
  } finally {
    clearTimeout(timer);
    sending?.end(response);
  }
}

/** What cutting the connection off looks like from above differs; where it was the name, it stays the name. */
function lateness(error: unknown): unknown {
  return error instanceof OutboundFailed && error.reason === 'name_unresolved'
    ? error
    : new OutboundFailed('response_timeout');
}

/** A request on its way. */
interface Sending {
  readonly response: Promise<IncomingMessage>;
  /** Whether it failed because a kept connection had been closed meanwhile. */
  hasClosedIdle(error: unknown): boolean;
  /** Lets go of the connection: kept where request and response have come to their end, closed else. */
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
    // Either way there are none of the proxies that an agent may know.
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
    // While it is opened, whoever opens it hears of the end and says what was missing.
    const onAbort = (): void => void message.destroy(new OutboundFailed('response_timeout'));
    message.on('socket', () => {
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    message.on('information', () => {
      interim += 1;
      if (interim > MOST_INTERIM) message.destroy(new OutboundFailed('malformed_response', 'interim responses'));
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
      // Every request ends so; an error, with its stack, is made for those without a response.
      if (!hasResponse) reject(new OutboundFailed('connection_closed'));
    });
  });
}

/** What there is of the body when it ends, is long enough, or takes too long: it changes nothing of the status. */
function beginningOf(response: IncomingMessage, keepBytes: number, timeoutMs = BODY_TIMEOUT_MS): Promise<Buffer> {
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
      // Copied: a small part would keep the whole piece.
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

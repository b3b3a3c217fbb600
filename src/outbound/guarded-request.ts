/**
 * Sends one request to a destination that a stranger has chosen, and reads of the response what is needed: its status,
 * its fields, the beginning of its body. Everything is bounded; nothing is followed.
 */
import { request as httpRequest, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Destination } from './destination.js';
import { openGuardedSocket, type GuardedSocketOptions } from './guarded-socket.js';
import { codeOf, OutboundFailed } from './outbound-failed.js';

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

/**
 * Sends a request on a connection of its own.
 * @throws OutboundRefused where it would lead to where it must not; OutboundFailed where no response came.
 */
export async function sendGuarded(request: GuardedRequest, options: GuardedSocketOptions): Promise<GuardedResponse> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), request.timeoutMs);
  let socket: Socket | undefined;
  try {
    socket = await openGuardedSocket(request.destination, options, abort.signal);
    const { remoteAddress: address = '' } = socket;
    const response = await responseTo(request, socket);
    const body = await beginningOf(response, request.keepBytes);
    return { statusCode: response.statusCode ?? 0, headers: response.headers, body, address };
  } catch (error) {
    throw abort.signal.aborted ? lateness(error) : error;
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }
}

/** What cutting the connection off looks like from above differs; where it was the name, it stays the name. */
function lateness(error: unknown): unknown {
  return error instanceof OutboundFailed && error.reason === 'name_unresolved'
    ? error
    : new OutboundFailed('response_timeout');
}

function responseTo(request: GuardedRequest, socket: Socket): Promise<IncomingMessage> {
  const { destination, method, headers, body } = request;
  return new Promise((resolve, reject) => {
    const message: ClientRequest = httpRequest({
      // With it there is no agent, and none of the proxies that an agent may know.
      createConnection: () => socket,
      method,
      path: destination.path,
      headers: { ...headers, host: destination.authority, 'content-length': String(body.length), connection: 'close' },
      maxHeaderSize: LARGEST_HEAD_BYTES,
      setHost: false,
      insecureHTTPParser: false,
    });
    let interim = 0;
    message.on('information', () => {
      interim += 1;
      if (interim > MOST_INTERIM) message.destroy(new OutboundFailed('malformed_response', 'interim responses'));
    });
    message.on('response', resolve);
    message.on('upgrade', () => reject(new OutboundFailed('malformed_response', 'upgrade')));
    message.on('error', (error) => reject(failureOf(error)));
    message.on('close', () => reject(new OutboundFailed('connection_closed')));
    message.end(body);
  });
}

/** What there is of the body when it ends, is long enough, or takes too long: it changes nothing of the status. */
function beginningOf(response: IncomingMessage, keepBytes: number): Promise<Buffer> {
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let keptBytes = 0;
    let readBytes = 0;
    const done = (): void => {
      clearTimeout(timer);
      response.removeAllListeners('data');
      resolve(Buffer.concat(kept));
    };
    const timer = setTimeout(done, BODY_TIMEOUT_MS);
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

function failureOf(error: Error): OutboundFailed {
  if (error instanceof OutboundFailed) return error;
  const code = codeOf(error);
  if (code === 'HPE_HEADER_OVERFLOW') return new OutboundFailed('head_too_large');
  if (code?.startsWith('HPE_') === true) return new OutboundFailed('malformed_response', code);
  return new OutboundFailed('connection_closed', code);
}

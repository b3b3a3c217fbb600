/**
 * An HTTP client for tests. It sends requests exactly as specified, and does not normalize, merge, retry or decode
 * anything.
 */
import { once } from 'node:events';
import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { Readable } from 'node:stream';

export interface SendOptions {
  readonly method?: string;
  /** Request target, sent unchanged. By default, everything after the authority of the URL. */
  readonly path?: string;
  /** An object, or an array of names and values in turn, which keeps order, case and duplicates. */
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  /**
   * Request body. Strings and buffers have a Content-Length, and streams are chunked, unless the headers say otherwise.
   * Objects are sent as JSON.
   */
  readonly body?: string | Buffer | Readable | object;
  /** Agent for reusing connections. By default, each request has a new connection. */
  readonly agent?: Agent;
  /** Fails the request after this time without activity on the socket, in ms. Default: 20,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A complete response. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Header names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
  /** Parses the body as JSON. Throws if it is not JSON. */
  json<T = Record<string, unknown>>(): T;
}

/** A request whose response has started; for tests of streams. */
export interface Exchange {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
}

/**
 * Returns the request target exactly as written: `http://host:1/a/../b` → `/a/../b`. `URL` would normalize the path.
 */
function targetOf(url: string): string {
  return /^https?:\/\/[^/?#]+([^#]*)/.exec(url)?.[1] || '/';
}

function flatHeaders(url: URL, options: SendOptions, body: Buffer | Readable | undefined): string[] {
  const given = options.headers ?? [];
  const headers = Array.isArray(given) ? [...given] : Object.entries(given).flat();
  const has = (name: string) => headers.some((field, index) => index % 2 === 0 && field.toLowerCase() === name);
  if (!has('host')) headers.unshift('Host', url.host);
  if (isPlainObject(options.body) && !has('content-type')) headers.push('Content-Type', 'application/json');
  if (has('content-length') || has('transfer-encoding')) return headers;
  if (Buffer.isBuffer(body)) headers.push('Content-Length', String(body.length));
  else if (body !== undefined) headers.push('Transfer-Encoding', 'chunked');
  return headers;
}

function isPlainObject(body: SendOptions['body']): boolean {
  return typeof body === 'object' && !Buffer.isBuffer(body) && !(body instanceof Readable);
}

function encode(body: SendOptions['body']): Buffer | Readable | undefined {
  if (body === undefined || body instanceof Readable || Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/**
 * Starts a request without sending its body. Accepts any TLS certificate. The caller must end or destroy the request,
 * and wait for its `response`.
 */
export function openRequest(url: string, options: SendOptions = {}): ClientRequest {
  const address = new URL(url);
  const { request } = address.protocol === 'https:' ? https : http;
  const started = request({
    host: address.hostname.replace(/^\[|\]$/g, ''),
    port: address.port,
    method: options.method ?? 'GET',
    path: options.path ?? targetOf(url),
    headers: flatHeaders(address, options, encode(options.body)),
    agent: options.agent ?? false,
    rejectUnauthorized: false,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const timeoutMs = options.timeoutMs ?? 20_000;
  started.setTimeout(timeoutMs, () => started.destroy(new Error(`no response from ${url} for ${timeoutMs} ms`)));
  return started;
}

/** Sends a request and waits for the response head. */
export async function exchange(url: string, options: SendOptions = {}): Promise<Exchange> {
  const request = openRequest(url, options);
  const body = encode(options.body);
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  if (body instanceof Readable) {
    body.once('error', (error) => request.destroy(error));
    request.flushHeaders();
    body.pipe(request);
  } else {
    request.end(body);
  }
  const [response] = await answered;
  request.on('error', () => {}); // later errors also occur on the response
  return { request, response };
}

/** Sends a request and reads the whole response. Rejects if the connection breaks before the end of the response. */
export async function send(url: string, options: SendOptions = {}): Promise<Answer> {
  const { response } = await exchange(url, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body,
    trailers: response.trailers,
    get text() {
      return body.toString();
    },
    json: <T>() => JSON.parse(body.toString()) as T,
  };
}

/** Maximum silence in ms after the last expected response. An extra response would follow at once. */
const NO_MORE_MS = 150;

/**
 * Writes bytes to a port of 127.0.0.1. Returns everything received until the server closes or resets the connection, or
 * sends nothing for `silenceMs` (1 s). Text is Latin-1.
 * @param answers number of expected responses; afterwards a shorter silence ends the wait
 */
export function sendRaw(port: number, bytes: string | Buffer, silenceMs = 1_000, answers = Infinity): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    let connected = false;
    const socket = connect(port, '127.0.0.1', () => {
      connected = true;
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    });
    socket.setEncoding('latin1');
    socket.setTimeout(silenceMs, () => socket.destroy());
    socket.on('data', (chunk: string) => {
      received += chunk;
      if (received.split('HTTP/1.1 ').length > answers) socket.setTimeout(Math.min(silenceMs, NO_MORE_MS));
    });
    socket.on('error', (error) => {
      if (!connected) reject(error);
    });
    socket.on('close', () => resolve(received));
  });
}

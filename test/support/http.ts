/** An HTTP client that sends what it is told and shows what came back: nothing normalised, merged, retried or decoded. */
import { once } from 'node:events';
import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { Readable } from 'node:stream';

export interface SendOptions {
  readonly method?: string;
  /** Request target as it goes on the wire; without it, whatever stands behind the authority in the URL. */
  readonly path?: string;
  /** An object, or a flat array (name, value, name, value) that keeps order, case and duplicates. */
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  /** Text and buffers go with a Content-Length, streams chunked, unless the headers say otherwise; objects as JSON. */
  readonly body?: string | Buffer | Readable | object;
  /** Connections to use again; by default each request has its own. */
  readonly agent?: Agent;
  /** Fails the request when the socket is silent for this long; 20 s by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** An answer that has arrived whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Flat, as on the wire. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly trailers: IncomingMessage['trailers'];
  readonly text: string;
  /** The body as JSON; throws where it is not. */
  json<T = Record<string, unknown>>(): T;
}

/** A request whose answer has begun; for tests of streams. */
export interface Exchange {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
}

/** `http://host:1/a/../b` → `/a/../b`, as it was written; URL would have tidied it up. */
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

/** Starts a request. The caller ends (or destroys) it, and waits for its `response`. */
export function open(url: string, options: SendOptions = {}): ClientRequest {
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
  started.setTimeout(timeoutMs, () => started.destroy(new Error(`no answer from ${url} for ${timeoutMs} ms`)));
  return started;
}

/** Sends a request and waits for the head of its answer. */
export async function exchange(url: string, options: SendOptions = {}): Promise<Exchange> {
  const request = open(url, options);
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
  request.on('error', () => {}); // what happens from here on shows in the response
  return { request, response };
}

/** Sends a request and reads the whole answer. Rejects where the connection breaks before its clean end. */
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

/** An answer more than is expected would follow at once. */
const NO_MORE_MS = 150;

/**
 * Writes bytes to a port of 127.0.0.1. Returns all that came back until the other side closed, reset, or was silent for
 * `silenceMs` (1 s). Text is Latin-1.
 * @param answers number of expected responses; after them a shorter silence shows that there are no more
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

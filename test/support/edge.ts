/**
 * Sends raw requests to the gateway over each transport: its own HTTP/1.1 parser, Node's parser, TLS and HTTP/2.
 */
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { BackendHandler, RecordedRequest } from './backend.js';
import { hasOpenssl, makeCertificate } from './certificates.js';
import type { Answer } from './http.js';
import { parseAnswer } from './problem.js';
import { temporaryFolder } from './processes.js';
import { startProxied, type OwnProxied, type Proxied, type ProxiedOptions } from './proxied.js';

/** How a request reaches the gateway. `own parser` is the gateway's own parser for plain requests. */
export type Transport = 'own parser' | 'Node parser' | 'over TLS' | 'over HTTP/2';

/** All available transports, for `describe.each`. Without openssl there are no certificates for TLS and HTTP/2. */
export const TRANSPORTS: readonly Transport[] = hasOpenssl
  ? ['own parser', 'Node parser', 'over TLS', 'over HTTP/2']
  : ['own parser', 'Node parser'];

export interface EdgeRequest {
  readonly method?: string;
  /** Request target; `/api/v1/open` by default. */
  readonly target?: string;
  /** Value of `Host` or `:authority`. */
  readonly host?: string;
  /** Header names and values in turn. The API key is added unless `hasKey` is false. */
  readonly fields?: readonly string[];
  readonly hasKey?: boolean;
  /**
   * HTTP/1.1 only. If not false, the request has `Connection: close`. If false, the server must close the connection.
   */
  readonly isLast?: boolean;
  /** Sent unchanged. The test must specify its length in `fields`. */
  readonly body?: string;
}

export interface Edge<Program extends Proxied = Proxied> {
  /** Returns the program that serves a transport. */
  gatewayFor(transport: Transport): Program;
  /** Replaces the handler of both backends, and clears their recorded requests. */
  answerWith(handler: BackendHandler): void;
  /** Sends a request on a new connection, with the API key unless `hasKey` is false. */
  sendRequest(transport: Transport, request?: EdgeRequest): Promise<Answer>;
  /** Returns the requests that reached the backend of a transport. */
  receivedRequests(transport: Transport): readonly RecordedRequest[];
  /** Opens an HTTP/1.1 connection that stays half-open when the server closes its side. */
  openSocket(transport: Exclude<Transport, 'over HTTP/2'>): Promise<Socket>;
  stop(): Promise<void>;
}

/** Starts two programs, one of them with TLS. Without openssl, starts only one. The caller must stop them. */
export function startEdge(options: ProxiedOptions & { readonly own: true }): Promise<Edge<OwnProxied>>;
export function startEdge(options?: ProxiedOptions): Promise<Edge>;
export async function startEdge(options: ProxiedOptions = {}): Promise<Edge> {
  const plain = await startProxied(options);
  const encrypted = hasOpenssl ? await startProxied(withTls(options)) : plain;
  const gatewayFor = (transport: Transport): Proxied =>
    transport === 'over TLS' || transport === 'over HTTP/2' ? encrypted : plain;
  const all = new Set([plain, encrypted]);
  return {
    gatewayFor,
    answerWith: (handler) => all.forEach((each) => each.answerWith(handler)),
    sendRequest: (transport, request = {}) =>
      transport === 'over HTTP/2'
        ? askHttp2(gatewayFor(transport), request)
        : askHttp1(gatewayFor(transport), transport, request),
    receivedRequests: (transport) => gatewayFor(transport).backend.requests,
    openSocket: (transport) => connectTo(gatewayFor(transport), transport),
    stop: async () => void (await Promise.all([...all].map((each) => each.stop()))),
  };
}

/** Certificate for all test files of this worker. Equal configurations let them share programs. */
let tls: { readonly cert: string; readonly key: string } | undefined;

function withTls({ config = {}, ...more }: ProxiedOptions): ProxiedOptions {
  const { cert, key } = (tls ??= makeCertificate(temporaryFolder('edge')));
  const gateway = { ...(config['gateway'] as object | undefined), tls: { cert, key } };
  return { ...more, config: { ...config, gateway } };
}

/**
 * Returns the text of an HTTP/1.1 request. For Node's parser, an empty line comes first, because the gateway's own
 * parser leaves such requests to Node.
 */
export function requestText(
  { authorization }: Proxied,
  transport: Transport,
  { method = 'GET', target = '/api/v1/open', host = 'a', fields = [], body = '', hasKey = true }: EdgeRequest,
): string {
  const lines = fields.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  const key = hasKey ? `Authorization: ${authorization}\r\n` : '';
  const first = transport === 'Node parser' ? '\r\n' : '';
  return `${first}${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${key}${lines}\r\n${body}`;
}

async function connectTo({ port }: Proxied, transport: Transport): Promise<Socket> {
  const at = { port, host: '127.0.0.1', allowHalfOpen: true };
  const isTls = transport === 'over TLS';
  const socket = isTls ? connectTls({ ...at, ALPNProtocols: ['http/1.1'], rejectUnauthorized: false }) : connectTcp(at);
  socket.on('error', () => undefined);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  return socket;
}

async function askHttp1(proxied: Proxied, transport: Transport, request: EdgeRequest): Promise<Answer> {
  const socket = (await connectTo(proxied, transport)).setEncoding('latin1');
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  const last = request.isLast === false ? [] : ['Connection', 'close'];
  const fields = [...(request.fields ?? []), ...last];
  socket.write(requestText(proxied, transport, { ...request, fields }), 'latin1');
  socket.setTimeout(5_000, () => socket.destroy());
  await once(socket, 'end').catch(() => undefined);
  socket.destroy();
  return parseAnswer(text);
}

async function askHttp2(
  { trailgate, authorization }: Proxied,
  { method = 'GET', target = '/api/v1/open', host = 'a', fields = [], body, hasKey = true }: EdgeRequest,
): Promise<Answer> {
  const session = connectHttp2(trailgate.gatewayUrl, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  const more: Record<string, string> = {};
  for (let at = 0; at < fields.length; at += 2) more[(fields[at] ?? '').toLowerCase()] = fields[at + 1] ?? '';
  try {
    const pseudo = { ':method': method, ':path': target, ':authority': host };
    const request = { ...pseudo, ...(hasKey ? { authorization } : {}), ...more };
    // A request without a body ends with its head, as browsers and other clients send it.
    const stream = session.request(request, { endStream: body === undefined });
    const [headers] = (await once(body === undefined ? stream.end() : stream.end(body, 'latin1'), 'response')) as [
      IncomingHttpHeaders,
    ];
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    const received = Buffer.concat(pieces);
    return {
      status: Number(headers[':status']),
      headers,
      rawHeaders: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]),
      body: received,
      trailers: {},
      text: received.toString(),
      json: <T>() => JSON.parse(received.toString()) as T,
    };
  } finally {
    session.destroy();
  }
}

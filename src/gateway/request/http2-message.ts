/**
 * Converts HTTP/2 requests to the form of HTTP/1.1: with `Host`, without pseudo-fields, and with all cookies in one
 * field (RFC 9113 sections 8.3.1 and 8.2.3).
 */
import { Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ReadableOptions } from 'node:stream';
import type { ClientMessage } from '../../http/client/client-response.js';

/** GatewayHttp2Request is Node's HTTP/2 request object with the fields of HTTP/1.1 and a readable body. */
export class GatewayHttp2Request extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    const fields = fieldsOfHttp1(headers, rawHeaders);
    // HTTP/2 has no Transfer-Encoding. A body of unknown length is forwarded in chunks.
    if (!stream.endAfterHeaders && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
    super(stream, headers, options, fields);
  }
}

/**
 * StreamRequest represents a GET or DELETE request without a body. Such a request needs no readable stream, so Node's
 * request object and its listeners are not created.
 */
export class StreamRequest implements ClientMessage {
  readonly httpVersion = '2.0';
  readonly httpVersionMajor = 2;
  readonly complete = true;
  readonly method: string | undefined;
  readonly rawHeaders: string[];

  private constructor(
    readonly stream: ServerHttp2Stream,
    readonly headers: IncomingHttpHeaders,
    /** Names and values of all fields in turn, including pseudo-fields. */
    readonly streamFields: readonly string[],
    readonly url: string,
    /** Socket of the connection. Node's HTTP/2 objects provide only a slow proxy of the socket. */
    readonly socket: Socket,
  ) {
    this.method = headers[':method'];
    this.rawHeaders = fieldsOfHttp1(headers, streamFields);
  }

  /** Creates the request of a stream. Returns undefined if the request needs Node's request object. */
  static fromStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    fields: readonly string[],
    socket: Socket,
  ): StreamRequest | undefined {
    const { ':method': method, ':path': path } = headers;
    if ((method !== 'GET' && method !== 'DELETE') || path?.startsWith('/') !== true) return undefined;
    if (!stream.endAfterHeaders || stream.destroyed) return undefined;
    if (headers['content-length'] !== undefined || headers.expect !== undefined) return undefined;
    return new StreamRequest(stream, headers, fields, path, socket);
  }

  /** Creates Node's request object for the stream. */
  toNodes(): GatewayHttp2Request {
    return new GatewayHttp2Request(this.stream, this.headers, {}, this.streamFields);
  }
}

/**
 * Converts fields to the form of HTTP/1.1: removes pseudo-fields, joins cookies and adds `Host`. If `Host` and
 * `:authority` differ, the result has both, and the framing check rejects the request.
 * @param headers fields by name. This function sets `headers.host`.
 */
function fieldsOfHttp1(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): string[] {
  const authority = headers[':authority'];
  const host = headers.host === undefined || headers.host === authority ? authority : undefined;
  if (host !== undefined) headers.host = host;
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

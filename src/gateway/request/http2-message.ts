/**
 * Requests of HTTP/2 as the steps know them from HTTP/1.1: with `Host`, without pseudo-fields, their cookies in one
 * field (RFC 9113 sections 8.3.1 and 8.2.3).
 */
import { Http2ServerRequest, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { ReadableOptions } from 'node:stream';
import type { ClientMessage } from '../../http/client/client-response.js';

/** A request as Node makes it, which can be read from. */
export class GatewayHttp2Request extends Http2ServerRequest {
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    options: ReadableOptions,
    rawHeaders: readonly string[],
  ) {
    const fields = fieldsOfHttp1(headers, rawHeaders);
    // There is no Transfer-Encoding in HTTP/2: a body whose length nobody knows goes on in chunks.
    if (!stream.endAfterHeaders && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
    super(stream, headers, options, fields);
  }
}

/**
 * A GET or DELETE that has ended with its head, and asks for nothing else: nothing is to be read from it, so it is no
 * stream of Node's, and its client's stream is listened to by nobody but us.
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
    /** As Node has them, with the pseudo-fields. */
    readonly streamFields: readonly string[],
    readonly url: string,
    /** The connection itself: that of a stream would look each of its properties up. */
    readonly socket: Socket,
  ) {
    this.method = headers[':method'];
    this.rawHeaders = fieldsOfHttp1(headers, streamFields);
  }

  /** The request of a stream; undefined: it is another one, which Node is to make. */
  static of(
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

  /** The same request as Node makes it. */
  toNodes(): GatewayHttp2Request {
    return new GatewayHttp2Request(this.stream, this.headers, {}, this.streamFields);
  }
}

/**
 * The fields of a request as they came, without the pseudo-fields, crumbs of cookies in one field again. `Host` may be
 * left out; where it and `:authority` are there and differ, both stand there, and framing refuses the two.
 * @param headers by their names; gets the `host` that stands for both.
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

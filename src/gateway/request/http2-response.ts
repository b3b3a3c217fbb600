/**
 * A response over HTTP/2. A small whole one goes past Node's `Http2ServerResponse`, which would look at each of its
 * fields several times, and straight to its stream; what is streamed is written as over HTTP/1.1.
 */
import type { Http2ServerResponse } from 'node:http2';
import type { ServerResponse } from 'node:http';
import type { ClientResponse } from '../../http1/client/client-response.js';
import { fieldsOfLines } from '../../http1/grammar/fields.js';

/** Node's response, as the gateway's server makes it (`listener/http2.ts`). */
export interface StreamResponse extends Http2ServerResponse {
  /** Its whole response has been given to the stream. */
  isWhole: boolean;
}

/** Http2Response writes to one stream. */
export class Http2Response implements ClientResponse {
  constructor(private readonly response: StreamResponse) {}

  get nodeResponse(): ServerResponse {
    return this.response as unknown as ServerResponse;
  }

  get isGone(): boolean {
    return this.response.stream.destroyed;
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  get takesWhole(): boolean {
    const { response } = this;
    return !response.headersSent && !response.stream.destroyed && response.getHeaderNames().length === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { response } = this;
    const { stream } = response;
    response.statusCode = status;
    response.isWhole = true;
    stream.respond([':status', String(status), ...fieldsOfLines(lines)]);
    // The stream takes it later, and whoever wrote it reads into it again.
    stream.end(typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.from(body));
  }

  /** The streams of a connection end each for itself. */
  endConnection(): void {}

  destroy(): void {
    (this.response as unknown as ServerResponse).destroy();
  }
}

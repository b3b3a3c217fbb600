/**
 * Creates the `Exchange` of each request on the public listener, with the request ID and the client's address and
 * scheme. Records the end of the request when its response has closed.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress, trustsOf, type Trusts } from '../../keys/clients/client-address.js';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import type { HttpDate } from '../../http/client/http-date.js';
import { linesOf } from '../../http/grammar/fields.js';
import { NodeClientResponse } from '../../http/client/node-client-response.js';
import type { PlainConnection } from '../../http/client/plain-connection.js';
import type { PlainRequest } from '../../http/client/plain-request.js';
import { discardRest } from '../../proxy/calls/discard-body.js';
import { KEEP_ALIVE_TIMEOUT_MS } from './connection-timeouts.js';
import { Exchange, type ExchangeOwner, type ExchangeResponse } from './exchange.js';
import { isHttp2, originForm } from './framing.js';
import type { StreamRequest } from './http2-message.js';
import { Http2Response, StreamResponse, type GatewayHttp2Response } from './http2-response.js';
import type { RequestEnd } from './request-end.js';
import type { Tracer } from './tracing.js';

export class Arrivals implements ExchangeOwner {
  private readonly trusts: Trusts | undefined;
  private readonly secureLines: string;

  /**
   * @param trustedProxies addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted
   * @param secureField name and value of the HSTS field for HTTPS responses; empty to send none
   */
  constructor(
    private readonly requestEnd: RequestEnd,
    trustedProxies: readonly string[],
    readonly secureField: readonly string[],
    readonly date: HttpDate,
    readonly tracer: Tracer | undefined,
  ) {
    this.secureLines = linesOf(secureField);
    this.trusts = trustsOf(trustedProxies);
  }

  /** Creates the exchange of a request that Node has parsed. */
  begin(message: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(
      message,
      clientResponse(message, response),
      originForm(message),
      this.addressOf(message),
      this.schemeOf(message),
      this,
    );
    if (exchange.scheme === 'https') exchange.secureLines = this.secureLines;
    watchEnd(exchange, response);
    return exchange;
  }

  /** Creates the exchange of a plain HTTP/1.1 request, which the gateway itself has parsed. */
  beginPlain(request: PlainRequest, connection: PlainConnection): Exchange {
    const address =
      this.trusts === undefined ? (connection.clientAddress ??= this.addressOf(request)) : this.addressOf(request);
    const exchange = new Exchange(request, connection, request.url, address, this.schemeOf(request), this);
    if (exchange.scheme === 'https') exchange.secureLines = this.secureLines;
    connection.begin(exchange, request);
    return exchange;
  }

  /** Creates the exchange of an HTTP/2 request without Node's request object. */
  beginStream(request: StreamRequest): Exchange {
    const response = new StreamResponse(request);
    const { url } = request;
    const exchange = new Exchange(request, response, url, this.addressOf(request), this.schemeOf(request), this);
    if (exchange.scheme === 'https') exchange.secureLines = this.secureLines;
    response.begin(exchange);
    return exchange;
  }

  onHandedOver(exchange: Exchange, message: IncomingMessage, response: ServerResponse): void {
    const { body } = exchange.message;
    exchange.message = message;
    if (body !== undefined) {
      // The plain parser has already read the body. Discard Node's copy.
      exchange.message.body = body;
      message.resume();
    }
    exchange.response = clientResponse(message, response);
    watchEnd(exchange, response);
  }

  onEnd(exchange: Exchange, status: number): void {
    exchange.closeListener?.onClose();
    // The response did not need the rest of the request body. Discard the rest within a time limit.
    if (!exchange.message.complete) discardRest(exchange.incoming);
    this.requestEnd.end(exchange, status);
  }

  /**
   * Returns the client's IP address. Uses `X-Forwarded-For` if the peer is a trusted proxy and the field is valid,
   * otherwise the peer's address. Empty if the connection was reset before its address was read.
   */
  private addressOf(message: ClientMessage): string {
    const { trusts } = this;
    const field = trusts === undefined ? undefined : message.headers['x-forwarded-for'];
    return clientAddress(message.socket.remoteAddress, field === undefined ? undefined : String(field), trusts);
  }

  /**
   * Returns the client's scheme. Uses the last value of `X-Forwarded-Proto` if a trusted proxy sent the field,
   * otherwise the scheme of the connection.
   */
  private schemeOf({ socket, headers }: ClientMessage): 'http' | 'https' {
    if (this.trusts?.(socket.remoteAddress ?? '') === true) {
      const field = headers['x-forwarded-proto'];
      if (field !== undefined) return String(field).split(',').at(-1)?.trim() === 'https' ? 'https' : 'http';
    }
    return 'encrypted' in socket ? 'https' : 'http';
  }
}

function clientResponse(message: IncomingMessage, response: ServerResponse): ClientResponse {
  if (isHttp2(message)) return new Http2Response(response as unknown as GatewayHttp2Response);
  return new NodeClientResponse(message, response, KEEP_ALIVE_TIMEOUT_MS);
}

/** Notifies the exchange when the response has closed: with the status, or with 0 if the client disconnected first. */
function watchEnd(exchange: Exchange, response: ExchangeResponse): void {
  response.exchange = exchange;
  response.on('close', () => exchange.onEnd(response.writableFinished ? response.statusCode : 0));
}

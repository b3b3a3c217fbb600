/** The request that the gateway passes to an endpoint (`mounted-endpoint.ts`). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import type { CloseListener } from '../../proxy/targets/forward-request.js';
import type { AdmissionRequest } from '../admission-request.js';
import type { RequestSource } from './request-source.js';

/** EndpointRequest is a validated request with a request ID. Its key has not been checked. */
export interface EndpointRequest extends AdmissionRequest {
  readonly requestId: string;
  /** Random digits for the request ID and the span ID. Inner calls share them. */
  readonly names: string;
  readonly message: ClientMessage;
  /** Node's request, for reading the body as a stream. */
  readonly incoming: IncomingMessage;
  readonly response: ClientResponse;
  /** Node's response, for streaming. See `ClientResponse`. */
  readonly nodeResponse: ServerResponse;
  /** Scheme of the client connection. */
  readonly scheme: 'http' | 'https';
  /** CORS header lines, each with its CRLF. */
  corsLines: string;
  /** Header lines for every response, such as the request ID and the limits. Each has its CRLF. */
  readonly responseLines: string;
  /** `Date` header line for a response that starts now, with its CRLF. */
  readonly dateLine: string;
  /** Body bytes read from the client (`bytesIn`) and written to it (`bytesOut`). */
  bytesIn: number;
  bytesOut: number;
  source: RequestSource | undefined;
  /** Called when the response is finished or the connection is closed. */
  closeListener: CloseListener | undefined;
}

/** Defines the request that the gateway passes to a mounted endpoint (`mounted-endpoint.ts`). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import type { CloseListener } from '../../proxy/targets/forward-request.js';
import type { AdmissionRequest } from '../admission-request.js';
import type { RequestSource } from './request-source.js';

/** EndpointRequest is a request with a request ID and valid framing. The endpoint must check its API key. */
export interface EndpointRequest extends AdmissionRequest {
  readonly requestId: string;
  /** Random hex digits, from which the request ID and the span ID are cut. Inner calls use the same digits. */
  readonly idDigits: string;
  readonly message: ClientMessage;
  /** Node's request, for reading the body as a stream. Reading this property hands the connection over to Node. */
  readonly incoming: IncomingMessage;
  readonly response: ClientResponse;
  /** Node's response, for streaming. Reading this property hands the connection over to Node. See `ClientResponse`. */
  readonly nodeResponse: ServerResponse;
  /** Scheme that the client used. A trusted proxy can report it. */
  readonly scheme: 'http' | 'https';
  /** CORS header lines for the response. Each line ends with CRLF. */
  corsLines: string;
  /** Header lines that every response must have, such as the request ID and the limits. Each line ends with CRLF. */
  readonly responseLines: string;
  /** `Date` header line for a response that starts now. Ends with CRLF. */
  readonly dateLine: string;
  /**
   * Number of body bytes that the endpoint has read from the client (`bytesIn`) and written to the client (`bytesOut`).
   */
  bytesIn: number;
  bytesOut: number;
  source: RequestSource | undefined;
  /** Listener to notify when the response is finished or the connection is closed. */
  closeListener: CloseListener | undefined;
}

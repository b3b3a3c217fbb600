/** A request that another plane serves on the public listener, as the gateway hands it over. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import type { CloseListener } from '../../proxy/targets/forward-request.js';
import type { AdmissionRequest } from '../admission-request.js';
import type { RequestSource } from './request-source.js';

/** DoorRequest is a request as a door has it: it has its name, it is framed well, and nobody has asked for its key. */
export interface DoorRequest extends AdmissionRequest {
  readonly requestId: string;
  /** Random digits for its request ID and its span. An inner request has the same ones. */
  readonly names: string;
  readonly message: ClientMessage;
  /** The same as Node has it: only that can have a body. */
  readonly incoming: IncomingMessage;
  readonly response: ClientResponse;
  /** For what cannot be written whole; see `ClientResponse`. */
  readonly nodeResponse: ServerResponse;
  /** What the client spoke. */
  readonly scheme: 'http' | 'https';
  /** Field lines that say which pages may read the response, each with its CRLF. */
  corsLines: string;
  /** Field lines that every response to it carries, each with its CRLF: request id, limits. */
  readonly responseLines: string;
  /** The field `Date` of a response that begins now, with its CRLF. */
  readonly dateLine: string;
  /** Of the bodies: read from the client, and written to it. */
  bytesIn: number;
  bytesOut: number;
  source: RequestSource | undefined;
  /** Told when its connection is done with it, or gone. */
  closeListener: CloseListener | undefined;
}

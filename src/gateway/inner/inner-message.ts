/** Converts an inner call to the message that the steps and the backend call read. */
import type { Socket } from 'node:net';
import type { InnerCall } from '../../admission/mounted/inner-call.js';
import { markForAuthenticator, tokenAuthenticatorOf } from '../../keys/clients/token-authenticator.js';
import type { ClientFields, ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, trimSpaces } from '../../http/grammar/fields.js';

/**
 * InnerFields provides the header fields of an inner call. The fields that identify the client are copied from the
 * client's request.
 */
class InnerFields implements ClientFields {
  readonly authorization: string | undefined;
  readonly 'content-length': string | undefined;
  readonly 'idempotency-key': string | undefined;
  readonly forwarded: string | undefined;
  readonly host: string | undefined;
  readonly traceparent: ClientFields['traceparent'];
  readonly 'x-forwarded-for': ClientFields['x-forwarded-for'];
  readonly 'x-request-id': ClientFields['x-request-id'];
  private readonly lines: string;

  constructor({ carrier, body, lines }: InnerCall) {
    const { headers } = carrier.message;
    this.lines = lines;
    this.authorization = headers.authorization;
    this['content-length'] = body === undefined ? undefined : String(body.length);
    this['idempotency-key'] = valueIn(lines, 'idempotency-key:');
    this.forwarded = headers.forwarded;
    this.host = headers.host;
    this.traceparent = headers.traceparent;
    this['x-forwarded-for'] = headers['x-forwarded-for'];
    this['x-request-id'] = headers['x-request-id'];
  }

  /**
   * Value of `content-type`. Only the idempotency step reads the field, so the constructor does not search for it.
   * Undefined without a body.
   */
  get 'content-type'(): string | undefined {
    return this['content-length'] === undefined ? undefined : valueIn(this.lines, 'content-type:');
  }
}

/** InnerMessage presents an inner call as a complete HTTP/1.1 request. */
export class InnerMessage implements ClientMessage {
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly complete = true;
  readonly method: string;
  readonly url: string;
  readonly lines: string;
  readonly headers: ClientFields;
  /** Connection of the client for which the call is made. */
  readonly socket: Socket;
  readonly body: Buffer | undefined;

  constructor(call: InnerCall) {
    const { body, lines } = call;
    this.method = call.operation.method;
    this.url = call.url;
    this.lines = body === undefined ? lines : `${lines}Content-Length: ${body.length}\r\n`;
    this.headers = new InnerFields(call);
    this.socket = call.carrier.message.socket;
    this.body = body;
    const tokenAuthenticator = tokenAuthenticatorOf(call.carrier.message);
    if (tokenAuthenticator !== undefined) markForAuthenticator(tokenAuthenticator, this);
  }

  get rawHeaders(): string[] {
    return fieldsOfLines(this.lines);
  }
}

/**
 * Returns the value of a field in field lines, or undefined if there is no such field.
 * @param begin name of the field in lower case, with the colon
 */
function valueIn(lines: string, begin: string): string | undefined {
  let at = lines.indexOf(begin);
  // The name may also occur within a value. A field name begins after a line feed.
  while (at > 0 && lines[at - 1] !== '\n') at = lines.indexOf(begin, at + 1);
  if (at === -1) return undefined;
  return trimSpaces(lines, at + begin.length, lines.indexOf('\r', at));
}

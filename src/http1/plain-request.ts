/**
 * Requests that have nothing unusual about them, read by hand: GET and DELETE without a body, whole in one piece, every byte to the
 * letter of RFC 9112. Whatever is not of this form is no error: Node's parser reads it, and says what is wrong with it.
 */
import type { Socket } from 'node:net';
import type { ClientFields, ClientMessage } from './client-answer.js';
import { areFieldLines, trimmed } from './fields.js';

/** Longer heads, and more fields, are for Node's parser, which counts them. */
const LONGEST_HEAD = 8_192;
const MOST_FIELDS = 100;
const HEAD_END = '\r\n\r\n';
const VERSION = ' HTTP/1.1';
const TARGET = /^\/[\x21-\x7e]*$/;

export class PlainRequest implements ClientMessage {
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly complete = true;

  constructor(
    readonly method: 'GET' | 'DELETE',
    readonly url: string,
    /** As Node has them: name, value, name, value. */
    readonly rawHeaders: string[],
    readonly headers: ClientFields,
    readonly socket: Socket,
    /** Whether another request may follow on the connection. */
    readonly keepsAlive: boolean,
  ) {}
}

/** What can be among the fields of a plain request; always of one shape. */
class PlainFields implements ClientFields {
  connection: string | undefined = undefined;
  authorization: string | undefined = undefined;
  forwarded: string | undefined = undefined;
  host: string | undefined = undefined;
  origin: string | undefined = undefined;
  te: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  'x-forwarded-for': string | undefined = undefined;
  'x-forwarded-proto': string | undefined = undefined;
  'x-request-id': string | undefined = undefined;
}

/**
 * The request that a piece of a connection is; undefined: it is another one, none, a part of one, or more than one.
 * @param text in Latin-1, from where a request begins to the end of what has been read.
 */
export function parsePlainRequest(text: string, socket: Socket): PlainRequest | undefined {
  const headEnd = text.length - HEAD_END.length;
  if (text.length > LONGEST_HEAD || text.indexOf(HEAD_END) !== headEnd || headEnd < 0) return undefined;
  const method = text.startsWith('GET ') ? 'GET' : text.startsWith('DELETE ') ? 'DELETE' : undefined;
  const lineEnd = text.indexOf('\r\n');
  if (method === undefined || !text.startsWith(VERSION, lineEnd - VERSION.length)) return undefined;
  const target = text.slice(method.length + 1, lineEnd - VERSION.length);
  const lines = text.slice(lineEnd + 2, headEnd + 2);
  if (!TARGET.test(target) || !areFieldLines(lines)) return undefined;
  const headers = new PlainFields();
  const rawHeaders = plainFields(lines, headers);
  if (rawHeaders === undefined) return undefined;
  return new PlainRequest(method, target, rawHeaders, headers, socket, headers.connection !== 'close');
}

/** The fields of lines that have been looked at, those that matter in `known` as well; undefined where one is not plain. */
function plainFields(lines: string, known: PlainFields): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; at < lines.length;) {
    const end = lines.indexOf('\r\n', at);
    const colon = lines.indexOf(':', at);
    const name = lines.slice(at, colon);
    const value = trimmed(lines, colon + 1, end);
    at = end + 2;
    fields.push(name, value);
    if (!note(name, value, known)) return undefined;
  }
  return fields.length > 2 * MOST_FIELDS ? undefined : fields;
}

/** Whether a request with this field can be plain. Most names are told apart from those that matter by their length. */
function note(name: string, value: string, known: PlainFields): boolean {
  switch (name.length) {
    case 2: // te
    case 4: // host
    case 6: // origin, expect
    case 7: // upgrade
    case 9: // forwarded
    case 10: // connection
    case 11: // traceparent
    case 12: // x-request-id
    case 13: // authorization
    case 14: // content-length
    case 15: // x-forwarded-for
    case 16: // proxy-connection
    case 17: // transfer-encoding, x-forwarded-proto
      return noteKnown(name.toLowerCase(), value, known);
    default:
      return true;
  }
}

function noteKnown(lower: string, value: string, known: PlainFields): boolean {
  switch (lower) {
    case 'authorization':
    case 'forwarded':
    case 'host':
    case 'origin':
    case 'te':
    case 'traceparent':
    case 'x-forwarded-for':
    case 'x-forwarded-proto':
    case 'x-request-id':
      // Node takes the first of some and joins others.
      if (known[lower] !== undefined) return false;
      known[lower] = value;
      return true;
    case 'connection':
      if (known.connection !== undefined) return false;
      known.connection = value;
      return value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
    case 'content-length':
    case 'expect':
    case 'proxy-connection':
    case 'transfer-encoding':
    case 'upgrade':
      return false;
    default:
      return true;
  }
}

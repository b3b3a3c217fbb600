/**
 * Parses plain requests: GET and DELETE without a body, and POST, PUT and PATCH with a small body of known length. A
 * plain request arrives completely, and every byte of its head is valid by RFC 9112. Node's parser reads all other
 * requests, and reports errors.
 */
import type { Socket } from 'node:net';
import type { ClientFields, ClientMessage } from './client-response.js';
import { COLON, CR, isName, LETTER_CASE, LF, nameEnd, matchesAt, targetEnd, valueEnd } from '../grammar/bytes.js';
import { fieldsOfLines, linesOf, trimSpaces } from '../grammar/fields.js';

/**
 * Maximum size of a plain request's head in bytes, and maximum number of its fields. Node reads larger heads and
 * enforces the limits of the gateway.
 */
const LONGEST_HEAD = 8_192;
const MAX_FIELDS = 100;
/** Maximum size of a plain request's body. Node reads requests with larger bodies, and streams the body. */
const LARGEST_BODY_BYTES = 16 * 1024;
const MAX_DIGITS = 5;
const ZERO = 0x30;
const VERSION = Buffer.from(' HTTP/1.1\r\n');

type PlainMethod = 'GET' | 'DELETE' | 'POST' | 'PUT' | 'PATCH';

/** Start is the beginning of a request line: the method, a space and the first slash of the path. */
interface Start {
  readonly method: PlainMethod;
  readonly bytes: Buffer;
  /** Whether requests with the method must have `Content-Length` and a body, which can be empty. */
  readonly hasBody: boolean;
}

const startWith = (method: PlainMethod, hasBody: boolean): Start => ({
  method,
  bytes: Buffer.from(`${method} /`),
  hasBody,
});
const GET = startWith('GET', false);
const DELETE = startWith('DELETE', false);
const POST = startWith('POST', true);
const PUT = startWith('PUT', true);
const PATCH = startWith('PATCH', true);

export class PlainRequest implements ClientMessage {
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly complete = true;

  constructor(
    readonly method: PlainMethod,
    readonly url: string,
    /** Validated field lines as received, each with its CRLF. Each field in `headers` occurs once in the lines. */
    readonly lines: string,
    readonly headers: ClientFields,
    readonly socket: Socket,
    /** Whether the client may send another request on the connection. */
    readonly keepsAlive: boolean,
    readonly body: Buffer | undefined,
  ) {}

  /** Field names and values in turn, as in Node's requests. Each read of this property parses the lines. */
  get rawHeaders(): string[] {
    return fieldsOfLines(this.lines);
  }

  /** The request as an HTTP/1.1 message, which Node's parser reads after a handover. */
  get bytes(): Buffer {
    const head = Buffer.from(`${this.method} ${this.url} HTTP/1.1\r\n${this.lines}\r\n`, 'latin1');
    return this.body === undefined ? head : Buffer.concat([head, this.body]);
  }
}

/** Returns the fields of a request as lines, each with its CRLF. */
export function linesOfMessage(message: ClientMessage): string {
  return message.lines ?? linesOf(message.rawHeaders);
}

/**
 * PlainFields holds the known fields of a plain request. All properties except `idempotency-key` exist from the start,
 * so that all objects have the same shape.
 */
class PlainFields implements ClientFields {
  /** Added only when present, because few requests have this field. */
  declare 'idempotency-key'?: string;
  'content-length': string | undefined = undefined;
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
 * Fields that a plain request must not have, because they announce a body of unknown length, an upgrade or an
 * expectation.
 */
const NOT_PLAIN = ['expect', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** Known field names by length. `field` is undefined for the names in `NOT_PLAIN`. */
const KNOWN = byLength([...Object.keys(new PlainFields()), 'idempotency-key', ...NOT_PLAIN]);

interface KnownName {
  /** First letter of the name in lower case. Most other names of the same length have a different first letter. */
  readonly first: number;
  readonly lower: Buffer;
  readonly field: keyof PlainFields | undefined;
}

function byLength(names: readonly string[]): KnownName[][] {
  const known: KnownName[][] = [];
  for (const name of names) {
    const field = NOT_PLAIN.includes(name) ? undefined : (name as keyof PlainFields);
    (known[name.length] ??= []).push({ first: name.charCodeAt(0), lower: Buffer.from(name), field });
  }
  return known;
}

/**
 * Parses one complete plain request.
 * @param bytes begins with the request. The buffer is reused for the next read, so the body is copied.
 * @param to end of the bytes read.
 * @returns the request. If only its body is incomplete, its total size in bytes. Undefined if the bytes are not exactly
 *   one plain request.
 */
export function parsePlainRequest(bytes: Buffer, to: number, socket: Socket): PlainRequest | number | undefined {
  const { method, bytes: start, hasBody } = startOf(bytes);
  if ((to > LONGEST_HEAD && !hasBody) || !matchesAt(bytes, 0, to, start)) return undefined;
  const targetAt = start.length - 1;
  const targetTo = targetEnd(bytes, targetAt, to);
  if (!matchesAt(bytes, targetTo, to, VERSION)) return undefined;
  const linesAt = targetTo + VERSION.length;
  const headers = new PlainFields();
  const linesTo = readFields(bytes, linesAt, to, headers);
  // The head must end here, and only the body may follow.
  if (linesTo + 2 > Math.min(to, LONGEST_HEAD) || bytes[linesTo] !== CR || bytes[linesTo + 1] !== LF) return undefined;
  const bodyAt = linesTo + 2;
  const end = bodyAt + bodyBytes(headers, hasBody);
  if (to !== end) return to < end ? end : undefined;
  const body = hasBody ? Buffer.from(bytes.subarray(bodyAt, end)) : undefined;
  const target = bytes.toString('latin1', targetAt, targetTo);
  const lines = bytes.toString('latin1', linesAt, linesTo);
  return new PlainRequest(method, target, lines, headers, socket, headers.connection !== 'close', body);
}

/**
 * Returns the only plain method that can begin with the first two bytes. The caller must compare the remaining bytes.
 */
function startOf(bytes: Buffer): Start {
  if (bytes[0] === GET.bytes[0]) return GET;
  if (bytes[0] === DELETE.bytes[0]) return DELETE;
  if (bytes[1] === POST.bytes[1]) return POST;
  return bytes[1] === PUT.bytes[1] ? PUT : PATCH;
}

/** Returns the size of the body in bytes, or NaN if the request is not plain. */
function bodyBytes({ 'content-length': length }: PlainFields, hasBody: boolean): number {
  if (!hasBody) return length === undefined ? 0 : NaN;
  const bytes = length === undefined ? NaN : plainNumber(length);
  return bytes > LARGEST_BODY_BYTES ? NaN : bytes;
}

/** Parses a decimal number of at most `MAX_DIGITS` digits without leading zeros. Returns NaN for any other text. */
function plainNumber(text: string): number {
  if (text.length > MAX_DIGITS || text === '') return NaN;
  let number = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return NaN;
    number = number * 10 + digit;
  }
  return text.length > 1 && text.charCodeAt(0) === ZERO ? NaN : number;
}

/**
 * Reads the fields of a head, and records the known ones in `fields`. Returns the offset after the last field. Returns
 * -1 if the head is not plain.
 */
function readFields(bytes: Buffer, from: number, to: number, fields: PlainFields): number {
  let at = from;
  for (let count = 0; at < to && bytes[at] !== CR; count++) {
    const colon = nameEnd(bytes, at, to);
    const end = valueEnd(bytes, colon + 1, to);
    const isField = colon > at && end + 1 < to && bytes[colon] === COLON && bytes[end] === CR && bytes[end + 1] === LF;
    if (!isField || count === MAX_FIELDS) return -1;
    const known = knownName(bytes, at, colon);
    if (known !== undefined && !recordField(known.field, bytes, colon + 1, end, fields)) return -1;
    at = end + 2;
  }
  return at;
}

/**
 * Returns the known field name between `at` and `colon`, or undefined. The length excludes most other names at little
 * cost.
 */
function knownName(bytes: Buffer, at: number, colon: number): KnownName | undefined {
  const names = KNOWN[colon - at];
  if (names === undefined) return undefined;
  const first = (bytes[at] as number) | LETTER_CASE;
  for (const name of names) if (name.first === first && isName(bytes, at, name.lower)) return name;
  return undefined;
}

/** Records a known field in `fields`. Returns false if the field makes the request not plain. */
function recordField(name: KnownName['field'], bytes: Buffer, from: number, to: number, fields: PlainFields): boolean {
  // The field is in `NOT_PLAIN`, or it is repeated. Node joins some repeated fields, and uses the first value of
  // others.
  if (name === undefined || fields[name] !== undefined) return false;
  const text = bytes.toString('latin1', from, to);
  const value = trimSpaces(text, 0, text.length);
  fields[name] = value;
  return name !== 'connection' || value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

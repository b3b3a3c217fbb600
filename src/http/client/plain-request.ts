/**
 * Requests that have nothing unusual about them, read by hand: GET and DELETE without a body, POST, PUT and PATCH with
 * one whose length is told, whole in one piece, every byte of the head to the letter of RFC 9112. Whatever is not of
 * this form is no error: Node's parser reads it, and says what is wrong with it.
 */
import type { Socket } from 'node:net';
import type { ClientFields, ClientMessage } from './client-response.js';
import { COLON, CR, isName, LETTER_CASE, LF, nameEnd, standsAt, targetEnd, valueEnd } from '../grammar/bytes.js';
import { fieldsOfLines, linesOf, trimmed } from '../grammar/fields.js';

/** Longer heads, and more fields, are for Node's parser, which counts them. */
const LONGEST_HEAD = 8_192;
const MOST_FIELDS = 100;
/** Larger bodies are streams. */
const LARGEST_BODY_BYTES = 16 * 1024;
const MOST_DIGITS = 5;
const ZERO = 0x30;
const VERSION = Buffer.from(' HTTP/1.1\r\n');

type PlainMethod = 'GET' | 'DELETE' | 'POST' | 'PUT' | 'PATCH';

/** How a request begins: its method, a space, and the slash of its path. */
interface Start {
  readonly method: PlainMethod;
  readonly bytes: Buffer;
  /** Whether it has a body, empty or not, whose length is told. */
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
    /**
     * The field lines as they were sent, each with its CRLF; fields to the letter, and
     * none twice that Node would not join.
     */
    readonly lines: string,
    readonly headers: ClientFields,
    readonly socket: Socket,
    /** Whether another request may follow on the connection. */
    readonly keepsAlive: boolean,
    readonly body: Buffer | undefined,
  ) {}

  /** As Node has them: name, value, name, value. Made when they are asked for. */
  get rawHeaders(): string[] {
    return fieldsOfLines(this.lines);
  }

  /** Byte for byte as it was sent. */
  get bytes(): Buffer {
    const head = Buffer.from(`${this.method} ${this.url} HTTP/1.1\r\n${this.lines}\r\n`, 'latin1');
    return this.body === undefined ? head : Buffer.concat([head, this.body]);
  }
}

/** The fields of a request as lines, each with its CRLF. */
export function linesOfMessage(message: ClientMessage): string {
  return message.lines ?? linesOf(message.rawHeaders);
}

/** What can be among the fields of a plain request; always of one shape. */
class PlainFields implements ClientFields {
  /** Few have one: it is added to those alone. */
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

/** With these a request has a body of unknown length, asks for another protocol, or speaks to the connection. */
const BARRED = ['expect', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** Names that matter here, by their length; `field`: undefined where a plain request has none such. */
const KNOWN = byLength([...Object.keys(new PlainFields()), 'idempotency-key', ...BARRED]);

interface KnownName {
  /** Its first letter: most names that are as long begin with another one. */
  readonly first: number;
  readonly lower: Buffer;
  readonly field: keyof PlainFields | undefined;
}

function byLength(names: readonly string[]): KnownName[][] {
  const known: KnownName[][] = [];
  for (const name of names) {
    const field = BARRED.includes(name) ? undefined : (name as keyof PlainFields);
    (known[name.length] ??= []).push({ first: name.charCodeAt(0), lower: Buffer.from(name), field });
  }
  return known;
}

/**
 * The request that a piece of a connection is; undefined: it is another one, none, a part of one, or more than one. A
 * number: its head is there, and with its body it has so many bytes.
 * @param bytes from where a request begins, to the end of what has been read; read into again, so a body is copied.
 */
export function parsePlainRequest(bytes: Buffer, to: number, socket: Socket): PlainRequest | number | undefined {
  const { method, bytes: start, hasBody } = startOf(bytes);
  if ((to > LONGEST_HEAD && !hasBody) || !standsAt(bytes, 0, to, start)) return undefined;
  const targetAt = start.length - 1;
  const targetTo = targetEnd(bytes, targetAt, to);
  if (!standsAt(bytes, targetTo, to, VERSION)) return undefined;
  const linesAt = targetTo + VERSION.length;
  const headers = new PlainFields();
  const linesTo = noteFields(bytes, linesAt, to, headers);
  // The empty line, and behind it the body, and nothing else.
  if (linesTo + 2 > Math.min(to, LONGEST_HEAD) || bytes[linesTo] !== CR || bytes[linesTo + 1] !== LF) return undefined;
  const bodyAt = linesTo + 2;
  const end = bodyAt + bodyBytes(headers, hasBody);
  if (to !== end) return to < end ? end : undefined;
  const body = hasBody ? Buffer.from(bytes.subarray(bodyAt, end)) : undefined;
  const target = bytes.toString('latin1', targetAt, targetTo);
  const lines = bytes.toString('latin1', linesAt, linesTo);
  return new PlainRequest(method, target, lines, headers, socket, headers.connection !== 'close', body);
}

/** The only start that it can have. */
function startOf(bytes: Buffer): Start {
  if (bytes[0] === GET.bytes[0]) return GET;
  if (bytes[0] === DELETE.bytes[0]) return DELETE;
  if (bytes[1] === POST.bytes[1]) return POST;
  return bytes[1] === PUT.bytes[1] ? PUT : PATCH;
}

/** How long the body behind a head is; NaN: a plain request is framed otherwise. */
function bodyBytes({ 'content-length': length }: PlainFields, hasBody: boolean): number {
  if (!hasBody) return length === undefined ? 0 : NaN;
  const bytes = length === undefined ? NaN : plainNumber(length);
  return bytes > LARGEST_BODY_BYTES ? NaN : bytes;
}

/** A number of a few digits, without zeros in front; NaN where a text is none. */
function plainNumber(text: string): number {
  if (text.length > MOST_DIGITS || text === '') return NaN;
  let number = 0;
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return NaN;
    number = number * 10 + digit;
  }
  return text.length > 1 && text.charCodeAt(0) === ZERO ? NaN : number;
}

/**
 * Where the fields of a plain request end, of which what matters is noted; -1 where
 * they are more, or others, than those.
 */
function noteFields(bytes: Buffer, from: number, to: number, fields: PlainFields): number {
  let at = from;
  for (let count = 0; at < to && bytes[at] !== CR; count++) {
    const colon = nameEnd(bytes, at, to);
    const end = valueEnd(bytes, colon + 1, to);
    const isField = colon > at && end + 1 < to && bytes[colon] === COLON && bytes[end] === CR && bytes[end + 1] === LF;
    if (!isField || count === MOST_FIELDS) return -1;
    const known = knownName(bytes, at, colon);
    if (known !== undefined && !note(known.field, bytes, colon + 1, end, fields)) return -1;
    at = end + 2;
  }
  return at;
}

/** Most names are told apart from those that matter by their length. */
function knownName(bytes: Buffer, at: number, colon: number): KnownName | undefined {
  const names = KNOWN[colon - at];
  if (names === undefined) return undefined;
  const first = (bytes[at] as number) | LETTER_CASE;
  for (const name of names) if (name.first === first && isName(bytes, at, name.lower)) return name;
  return undefined;
}

/** Whether a request with this field can be plain. */
function note(name: KnownName['field'], bytes: Buffer, from: number, to: number, fields: PlainFields): boolean {
  // Of what comes twice Node takes the first of some and joins others.
  if (name === undefined || fields[name] !== undefined) return false;
  const text = bytes.toString('latin1', from, to);
  const value = trimmed(text, 0, text.length);
  fields[name] = value;
  return name !== 'connection' || value === 'keep-alive' || value === 'close' || value === 'Keep-Alive';
}

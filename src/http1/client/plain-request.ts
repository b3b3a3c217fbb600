/**
 * Requests that have nothing unusual about them, read by hand: GET and DELETE without a body, whole in one
 * piece, every byte to the letter of RFC 9112. Whatever is not of this form is no error: Node's parser
 * reads it, and says what is wrong with it.
 */
import type { Socket } from 'node:net';
import type { ClientFields, ClientMessage } from './client-response.js';
import { COLON, CR, isName, LF, nameEnd, standsAt, targetEnd, valueEnd } from '../grammar/bytes.js';
import { fieldsOfLines, linesOf, trimmed } from '../grammar/fields.js';

/** Longer heads, and more fields, are for Node's parser, which counts them. */
const LONGEST_HEAD = 8_192;
const MOST_FIELDS = 100;
const GET = Buffer.from('GET /');
const DELETE = Buffer.from('DELETE /');
const VERSION = Buffer.from(' HTTP/1.1\r\n');

export class PlainRequest implements ClientMessage {
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly complete = true;

  constructor(
    readonly method: 'GET' | 'DELETE',
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
  ) {}

  /** As Node has them: name, value, name, value. Made when they are asked for. */
  get rawHeaders(): string[] {
    return fieldsOfLines(this.lines);
  }

  /** Byte for byte as it was sent, in Latin-1. */
  get text(): string {
    return `${this.method} ${this.url} HTTP/1.1\r\n${this.lines}\r\n`;
  }
}

/** The fields of a request as lines, each with its CRLF. */
export function linesOfMessage(message: ClientMessage): string {
  return message instanceof PlainRequest ? message.lines : linesOf(message.rawHeaders);
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

/** With these a request has a body, asks for another protocol, or speaks to the connection. */
const BARRED = ['content-length', 'expect', 'proxy-connection', 'transfer-encoding', 'upgrade'];

/** Names that matter here, by their length; `field`: undefined where a plain request has none such. */
const KNOWN = byLength([...Object.keys(new PlainFields()), ...BARRED]);

interface KnownName {
  readonly lower: Buffer;
  readonly field: keyof PlainFields | undefined;
}

function byLength(names: readonly string[]): KnownName[][] {
  const known: KnownName[][] = [];
  for (const name of names) {
    const field = BARRED.includes(name) ? undefined : (name as keyof PlainFields);
    (known[name.length] ??= []).push({ lower: Buffer.from(name), field });
  }
  return known;
}

/**
 * The request that a piece of a connection is; undefined: it is another one, none, a part of one, or more than one.
 * @param bytes from where a request begins, to the end of what has been read.
 */
export function parsePlainRequest(bytes: Buffer, to: number, socket: Socket): PlainRequest | undefined {
  const method = bytes[0] === GET[0] ? 'GET' : 'DELETE';
  const start = method === 'GET' ? GET : DELETE;
  if (to > LONGEST_HEAD || !standsAt(bytes, 0, to, start)) return undefined;
  const targetAt = start.length - 1;
  const targetTo = targetEnd(bytes, targetAt, to);
  if (!standsAt(bytes, targetTo, to, VERSION)) return undefined;
  const linesAt = targetTo + VERSION.length;
  const headers = new PlainFields();
  const linesTo = noteFields(bytes, linesAt, to, headers);
  // The empty line, and nothing behind it.
  if (linesTo + 2 !== to || bytes[linesTo] !== CR || bytes[linesTo + 1] !== LF) return undefined;
  const target = bytes.toString('latin1', targetAt, targetTo);
  const lines = bytes.toString('latin1', linesAt, linesTo);
  return new PlainRequest(method, target, lines, headers, socket, headers.connection !== 'close');
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
  for (const name of names) if (isName(bytes, at, name.lower)) return name;
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

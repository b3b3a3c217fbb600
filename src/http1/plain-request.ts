/**
 * Requests that have nothing unusual about them, read by hand: GET and DELETE without a body, whole in one piece, every byte to the
 * letter of RFC 9112. Whatever is not of this form is no error: Node's parser reads it, and says what is wrong with it.
 */
import type { Socket } from 'node:net';
import type { ClientFields, ClientMessage } from './client-answer.js';
import { areFieldLines, fieldsOfLines, linesOf, trimmed } from './fields.js';

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
    /** The field lines as they were sent, each with its CRLF; fields to the letter, and none twice that Node would not join. */
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
}

/** The fields of a request as lines, each with its CRLF. */
export function linesOfMessage(message: ClientMessage): string {
  return message instanceof PlainRequest ? message.lines : linesOf(message.rawHeaders);
}

/** With these a request has a body, asks for another protocol, or speaks to the connection. */
const BARRED: ReadonlySet<string> = new Set([
  'content-length',
  'expect',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

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

/** By the length of a name: the letters that those begin with which matter here. */
const FIRST_LETTERS = firstLetters([...Object.keys(new PlainFields()), ...BARRED]);

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
  if (!noteFields(lines, headers)) return undefined;
  return new PlainRequest(method, target, lines, headers, socket, headers.connection !== 'close');
}

/** Notes what matters of lines that have been looked at; false where they are more, or others, than a plain request has. */
function noteFields(lines: string, known: PlainFields): boolean {
  let count = 0;
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\r\n', at) + 2;
    const colon = lines.indexOf(':', at);
    if (++count > MOST_FIELDS) return false;
    // Most names are told apart from those that matter by their length and first letter.
    if (FIRST_LETTERS[colon - at]?.includes(lines.charAt(at)) !== true) continue;
    if (!note(lines.slice(at, colon).toLowerCase(), trimmed(lines, colon + 1, next - 2), known)) return false;
  }
  return true;
}

/** Whether a request with this field can be plain. */
function note(lower: string, value: string, known: PlainFields): boolean {
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
    default:
      return !BARRED.has(lower);
  }
}

function firstLetters(names: readonly string[]): string[] {
  const letters: string[] = [];
  for (const name of names) {
    const first = name.charAt(0);
    letters[name.length] = `${letters[name.length] ?? ''}${first}${first.toUpperCase()}`;
  }
  return letters;
}

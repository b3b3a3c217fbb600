/** Chunked bodies: decoded the same however they are split, ended at the right byte, rejected if ambiguous. */
import { describe, expect, it } from '@jest/globals';
import { ChunkedBody } from './chunked-body.js';

interface Reading {
  readonly data: string;
  readonly trailerText: string;
  readonly isDone: boolean;
  /** Number of bytes that belong to the body. */
  readonly end: number;
  readonly error: string | undefined;
}

/**
 * Decodes a body in pieces. Like the connection, it places each piece at another offset of a larger buffer, which is
 * full of line ends.
 */
function read(text: string, cuts: readonly number[] = []): Reading {
  const body = new ChunkedBody();
  const buffer = Buffer.alloc(text.length + 64);
  let data = '';
  let end = 0;
  let error: string | undefined;
  const edges = [...cuts, text.length];
  try {
    for (let from = 0, index = 0; index < edges.length && !body.isDone; index++) {
      const to = edges[index] ?? 0;
      const at = index % 3;
      buffer.fill('\r\n0\r\n\r\n').write(text.slice(from, to), at, 'latin1');
      end =
        from +
        body.decode(buffer, at, at + to - from, (start, stop) => (data += buffer.toString('latin1', start, stop))) -
        at;
      from = to;
    }
  } catch (thrown) {
    error = (thrown as NodeJS.ErrnoException).code;
  }
  return { data, trailerText: body.trailerText, isDone: body.isDone, end, error };
}

const WHOLE: readonly [what: string, text: string, data: string, trailerText?: string][] = [
  ['nothing', '0\r\n\r\n', ''],
  ['one chunk', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['several', '5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n', 'hello 0123456789'],
  ['data that looks like framing', '7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n', '\r\n0\r\n\r\n'],
  ['sizes with zeros and either case', '005\r\nhello\r\n0a\r\n0123456789\r\n000\r\n\r\n', 'hello0123456789'],
  ['extensions', '5;a\r\nhello\r\n0;b=c;d="e;\\"f"\r\n\r\n', 'hello'],
  ['extensions with space around', '5 ; a = b\r\nhello\r\n0\t;\tc\r\n\r\n', 'hello'],
  ['trailers', '1\r\nx\r\n0\r\nA: b\r\nC:d\r\n\r\n', 'x', 'A: b\r\nC:d\r\n'],
];

const BAD: readonly [what: string, text: string][] = [
  ['no size', '\r\nhello\r\n0\r\n\r\n'],
  ['a size in words', 'five\r\n'],
  ['a sign', '+5\r\nhello\r\n0\r\n\r\n'],
  ['a negative size', '-5\r\nhello\r\n0\r\n\r\n'],
  ['a prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['an underscore', '0_5\r\nhello\r\n0\r\n\r\n'],
  ['space before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
  ['space behind the size', '5 \r\nhello\r\n0\r\n\r\n'],
  ['a size that no number holds', 'fffffffffffffff\r\n'],
  ['a bare line feed behind the size', '5\nhello\r\n0\r\n\r\n'],
  ['a bare carriage return behind the size', '5\rhello\r\n0\r\n\r\n'],
  ['a bare line feed in an extension', '5;ab\nhello\r\n0\r\n\r\n'],
  ['a bare carriage return in an extension', '5;a\rb\r\nhello\r\n0\r\n\r\n'],
  ['a carriage return in quotes', '5;a="\r"\r\nhello\r\n0\r\n\r\n'],
  ['an extension without a name', '5;\r\nhello\r\n0\r\n\r\n'],
  ['quotes that are not closed', '5;a="b\r\nhello\r\n0\r\n\r\n'],
  ['data longer than its size', '5\r\nhello!\r\n0\r\n\r\n'],
  ['a bare line feed behind data', '5\r\nhello\n0\r\n\r\n'],
  ['a bare carriage return behind data', '5\r\nhello\r0\r\n\r\n'],
  ['data without an end', '5\r\nhello0\r\n\r\n'],
  ['a bare line feed at the end', '0\r\n\n'],
  ['a bare line feed behind a trailer', '0\r\nA: b\n\r\n'],
  ['a trailer that is no field', '0\r\nhello\r\n\r\n'],
  ['a trailer with space before its colon', '0\r\nA : b\r\n\r\n'],
  ['a trailer that goes on in the next line', '0\r\nA: b\r\n c\r\n\r\n'],
  ['a trailer with a carriage return', '0\r\nA: b\rC: d\r\n\r\n'],
  ['a trailer with a NUL', '0\r\nA: \0\r\n\r\n'],
];

/** All ways to split a text once, and into single bytes. */
const everyCut = (text: string): number[][] => [
  ...Array.from({ length: text.length - 1 }, (_each, index) => [index + 1]),
  Array.from({ length: text.length - 1 }, (_each, index) => index + 1),
];

describe('a chunked body', () => {
  it.each(WHOLE)('decodes %s, split at any byte', (_what, text, data, trailerText = '') => {
    const whole = { data, trailerText, isDone: true, end: text.length, error: undefined };
    expect(read(text)).toEqual(whole);
    for (const cuts of everyCut(text)) expect(read(text, cuts)).toEqual(whole);
  });

  it.each(WHOLE)('ends at its last byte, whatever follows (%s)', (_what, text, data) => {
    for (const rest of ['\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '0\r\n\r\n', '\0']) {
      expect(read(text + rest)).toMatchObject({ data, isDone: true, end: text.length, error: undefined });
      expect(read(text + rest, [text.length])).toMatchObject({ data, isDone: true, error: undefined });
    }
  });

  it.each(WHOLE)('is not done before its last byte (%s)', (_what, text) => {
    for (let length = 0; length < text.length; length++) {
      expect(read(text.slice(0, length))).toMatchObject({ isDone: false, end: length, error: undefined });
    }
  });

  it.each(BAD)('is rejected for %s, split at any byte', (_what, text) => {
    expect(read(text).error).toBe('TRAILGATE_BAD_ANSWER');
    for (const cuts of everyCut(text)) {
      const { error, isDone } = read(text, cuts);
      expect({ error, isDone }).toEqual({ error: 'TRAILGATE_BAD_ANSWER', isDone: false });
    }
  });

  it('delivers data before its chunk is complete', () => {
    const { data, isDone } = read('ffff\r\nfirst', [3, 8]);
    expect({ data, isDone }).toEqual({ data: 'first', isDone: false });
  });

  it.each([
    ['a size line', `5;${'a'.repeat(300)}\r\n`],
    ['a size line without an end', '0'.repeat(300)],
    ['a trailer', `0\r\nA: ${'b'.repeat(17_000)}\r\n\r\n`],
    ['a trailer without an end', `0\r\nA: ${'b'.repeat(17_000)}`],
    ['many trailers', `0\r\n${'A: b\r\n'.repeat(3_000)}\r\n`],
  ])('is rejected for %s that is too long, split or not', (_what, text) => {
    expect(read(text).error).toBe('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
    expect(read(text, [1, 2, 200, 250]).error).toBe('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
  });
});

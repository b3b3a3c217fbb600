/** Response heads: what they mean for body and connection, and what is rejected. */
import { describe, expect, it } from '@jest/globals';
import { cpuMsOf } from '../../../test/support/cpu-time.js';
import { fieldsOfLines } from '../grammar/fields.js';
import { Framing, parseResponseHead, type ResponseHead } from './response-head.js';

/** Joins the lines with CRLF and appends the empty line. */
const read = (text: string, isHead = false): ResponseHead => {
  const bytes = Buffer.from(`${text}\r\n`, 'latin1');
  const head = parseResponseHead(bytes, 0, bytes.length, isHead);
  if (head === undefined) throw new Error('not whole');
  return head;
};
const parse = (text: string, isHead = false): ResponseHead => read(text.replaceAll('\n', '\r\n'), isHead);
const OK = 'HTTP/1.1 200 OK\n';
const BAD = expect.objectContaining({ code: 'TRAILGATE_BAD_ANSWER' });
/** Returns what the parser throws. */
const refusal = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('a response head', () => {
  it('has a status and its field lines as sent', () => {
    const head = parse(`${OK}Content-Type:text/plain\nX-A: \t one  two \t\nx-a:\nX-Empty: \t\nX-Latin: caf\u00e9\n`);
    expect(head.status).toBe(200);
    expect(fieldsOfLines(head.lines)).toEqual([
      'Content-Type',
      'text/plain',
      'X-A',
      'one  two',
      'x-a',
      '',
      'X-Empty',
      '',
      'X-Latin',
      'caf\u00e9',
    ]);
  });

  it.each([
    ['no reason and no space', 'HTTP/1.1 200\n'],
    ['an empty reason', 'HTTP/1.1 200 \n'],
    ['a reason in Latin-1', 'HTTP/1.1 200 Tr\u00e8s bien\t!\n'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\n'],
    ['no fields', OK],
  ])('may have %s', (_what, text) => {
    expect(parse(text).status).toBe(200);
  });

  it.each([
    ['nothing', '\n'],
    ['another protocol', 'ICY 200 OK\n'],
    ['HTTP/2', 'HTTP/2 200\n'],
    ['HTTP/1.2', 'HTTP/1.2 200 OK\n'],
    ['small letters', 'http/1.1 200 OK\n'],
    ['space before it', ' HTTP/1.1 200 OK\n'],
    ['an empty line before it', '\nHTTP/1.1 200 OK\n'],
    ['two spaces', 'HTTP/1.1  200 OK\n'],
    ['a tab', 'HTTP/1.1\t200 OK\n'],
    ['two digits', 'HTTP/1.1 20 OK\n'],
    ['four digits', 'HTTP/1.1 2000 OK\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\n'],
    ['no status', 'HTTP/1.1 OK\n'],
    ['a status that runs into its reason', 'HTTP/1.1 200OK\n'],
    ['a NUL in the reason', 'HTTP/1.1 200 O\0K\n'],
    ['a carriage return in the reason', 'HTTP/1.1 200 O\rX: y\n'],
  ])('is rejected for %s in the status line', (_what, text) => {
    expect(refusal(() => parse(text))).toEqual(BAD);
  });

  it.each([
    ['a space before the colon', 'Content-Length : 5\n'],
    ['a tab before the colon', 'Transfer-Encoding\t: chunked\n'],
    ['a space in the name', 'X A: b\n'],
    ['no colon', 'Content-Length\n'],
    ['an empty name', ': x\n'],
    ['a line that goes on', 'X-A: b\n c\n'],
    ['a line that goes on behind a tab', 'X-A: b\n\tTransfer-Encoding: chunked\n'],
    ['a first line that begins with a space', ' X-A: b\n'],
    ['a NUL', 'X-A: b\0c\n'],
    ['DEL', 'X-A: b\x7f\n'],
    ['a letter beyond ASCII in the name', 'X-\u00c4: b\n'],
    ['a bracket in the name', 'X[0]: b\n'],
  ])('is rejected for %s among the fields', (_what, lines) => {
    expect(refusal(() => parse(OK + lines))).toEqual(BAD);
  });

  it.each([
    ['a bare line feed', 'X-A: b\nX-B: c\r\n'],
    ['a bare line feed behind the status', undefined],
    ['a bare carriage return', 'X-A: b\rContent-Length: 5\r\n'],
    ['a carriage return before CRLF', 'X-A: b\r\r\n'],
    ['a carriage return in the name', 'X-A\r: b\r\n'],
  ])('is rejected for %s, which another parser could take for a line end', (_what, lines) => {
    const text = lines === undefined ? 'HTTP/1.1 200 OK\nX-A: b\r\n' : `HTTP/1.1 200 OK\r\n${lines}`;
    expect(refusal(() => read(text))).toEqual(BAD);
  });

  it('is parsed in linear time', () => {
    const hard = [
      `${OK}${'a:b\n'.repeat(16_000)}`,
      `${OK}A:${' '.repeat(64_000)}\x01\n`,
      `${OK}A:x${' '.repeat(64_000)}x\n`,
      `${OK}Connection:${' ,'.repeat(32_000)}\n`,
      `${OK}Keep-Alive:${' timeout='.repeat(7_000)}\n`,
    ];
    const ms = cpuMsOf(() => {
      for (const text of hard) refusal(() => parse(text));
    });
    expect(ms).toBeLessThan(1_000);
  });
});

describe('the end of the body', () => {
  it.each([
    ['is known by Content-Length', 'Content-Length: 5\n', Framing.Length, 5],
    ['is known by Content-Length, whatever the case of its name', 'cONTENT-lENGTH:5\n', Framing.Length, 5],
    ['is known by Content-Length with zeros in front', 'Content-Length: 005\n', Framing.Length, 5],
    ['is at once', 'Content-Length: 0\n', Framing.None, 0],
    ['is known by chunks', 'Transfer-Encoding: chunked\n', Framing.Chunked, -1],
    ['is known by chunks, whatever the case', 'transfer-encoding: CHUNKED\n', Framing.Chunked, -1],
    ['is that of the connection', '', Framing.Close, -1],
    ['may lie far away', 'Content-Length: 999999999999999\n', Framing.Length, 999_999_999_999_999],
  ])('%s', (_what, lines, framing, contentLength) => {
    expect(parse(OK + lines)).toMatchObject({ framing, contentLength });
  });

  it.each([
    ['two lengths', 'Content-Length: 5\nContent-Length: 6\n'],
    ['a length told twice', 'Content-Length: 5\ncontent-length: 5\n'],
    ['a list of lengths', 'Content-Length: 5, 5\n'],
    ['an empty length', 'Content-Length:\n'],
    ['a sign', 'Content-Length: +5\n'],
    ['a negative length', 'Content-Length: -5\n'],
    ['a hexadecimal length', 'Content-Length: 0x5\n'],
    ['a length with a point', 'Content-Length: 5.0\n'],
    ['a length in words', 'Content-Length: five\n'],
    ['a length in two parts', 'Content-Length: 5 6\n'],
    ['a length that no number holds', 'Content-Length: 9999999999999999\n'],
    ['other digits', 'Content-Length: \u00b2\n'],
    ['a length beside chunks', 'Content-Length: 5\nTransfer-Encoding: chunked\n'],
    ['chunks beside a length', 'Transfer-Encoding: chunked\nContent-Length: 5\n'],
    ['chunks told twice', 'Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n'],
    ['chunks in chunks', 'Transfer-Encoding: chunked, chunked\n'],
    ['another coding below chunks', 'Transfer-Encoding: gzip, chunked\n'],
    ['another coding', 'Transfer-Encoding: gzip\n'],
    ['another coding in a line of its own', 'Transfer-Encoding: chunked\nTransfer-Encoding: identity\n'],
    ['identity', 'Transfer-Encoding: identity\n'],
    ['no coding', 'Transfer-Encoding:\n'],
    ['nearly chunked', 'Transfer-Encoding: xchunked\n'],
    ['chunked with a parameter', 'Transfer-Encoding: chunked;q=1\n'],
    ['chunked in quotes', 'Transfer-Encoding: "chunked"\n'],
    ['a vertical tab around it', 'Transfer-Encoding: \x0bchunked\n'],
  ])('is rejected for %s', (_what, lines) => {
    expect(refusal(() => parse(OK + lines))).toEqual(BAD);
  });

  it('is rejected for chunked HTTP/1.0 (RFC 9112 section 6.1)', () => {
    expect(refusal(() => parse('HTTP/1.0 200 OK\nTransfer-Encoding: chunked\n'))).toEqual(BAD);
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\n', true],
    ['a 204', 'HTTP/1.1 204 No Content\n', false],
    ['a 304', 'HTTP/1.1 304 Not Modified\n', false],
    ['a 100', 'HTTP/1.1 100 Continue\n', false],
    ['a 103', 'HTTP/1.1 103 Early Hints\n', false],
  ])('is the end of the head for %s, whatever the fields say', (_what, line, isHead) => {
    for (const lines of ['', 'Content-Length: 5\n', 'Transfer-Encoding: chunked\n']) {
      expect(parse(line + lines, isHead).framing).toBe(Framing.None);
    }
    const { status, contentLength } = parse(`${line}Content-Length: 5\n`, isHead);
    expect(contentLength).toBe(status === 204 ? -1 : 5);
  });

  it.each(['Content-Length: 46\n', 'content-length:0\n', 'CONTENT-LENGTH: 0\n'])(
    'is not described by a Content-Length in a 204: %j',
    (length) => {
      for (const [before, behind] of [
        ['', ''],
        ['ETag: "a"\n', 'X-Content-Length: 1\nX-A: content-length: 2\n'],
        ['X-Content-Length: 1\nX-A: content-length: 2\n', 'ETag: "a"\n'],
      ] as const) {
        const { lines } = parse(`HTTP/1.1 204 No Content\n${before}${length}${behind}`);
        expect(lines).toBe(`${before}${behind}`.replaceAll('\n', '\r\n'));
        expect(parse(`${OK}${before}${length}${behind}`, true).lines).toContain(length.trim());
      }
    },
  );

  it.each([
    ['a 205', 'HTTP/1.1 205 Reset Content\n'],
    ['a 404', 'HTTP/1.1 404 Not Found\n'],
    ['a 999', 'HTTP/1.1 999 Beyond\n'],
  ])('of %s follows from its fields', (_what, line) => {
    expect(parse(`${line}Content-Length: 5\n`)).toMatchObject({ framing: Framing.Length });
    expect(parse(line)).toMatchObject({ framing: Framing.Close });
  });
});

describe('the connection', () => {
  const LENGTH = 'Content-Length: 5\n';

  it.each([
    ['is kept', 'HTTP/1.1', '', true],
    ['is kept when the answer says so', 'HTTP/1.1', 'Connection: keep-alive\n', true],
    ['is closed when the answer says so', 'HTTP/1.1', 'Connection: close\n', false],
    ['is closed whatever the case', 'HTTP/1.1', 'CONNECTION: Close\n', false],
    ['is closed when it is said among others', 'HTTP/1.1', 'Connection: x-a , close\n', false],
    ['is closed when it is said in another line', 'HTTP/1.1', 'Connection: x-a\nConnection: close\n', false],
    ['is closed when both are said', 'HTTP/1.1', 'Connection: keep-alive, close\n', false],
    ['is kept when only something like it is said', 'HTTP/1.1', 'Connection: closed\n', true],
    ['is closed by HTTP/1.0', 'HTTP/1.0', '', false],
    ['is kept by HTTP/1.0 when it says so', 'HTTP/1.0', 'Connection: Keep-Alive\n', true],
    ['is closed by HTTP/1.0 that says something else', 'HTTP/1.0', 'Connection: x-a\n', false],
  ])('%s', (_what, version, lines, keepsAlive) => {
    expect(parse(`${version} 200 OK\n${LENGTH}${lines}`).keepsAlive).toBe(keepsAlive);
  });

  it('is closed after a 204 whose fields announce a body', () => {
    const keeps = (lines: string): boolean => parse(`HTTP/1.1 204 No Content\n${lines}`).keepsAlive;
    expect(['', 'Content-Length: 0\n', LENGTH, 'Transfer-Encoding: chunked\n'].map(keeps)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(parse(`HTTP/1.1 304 Not Modified\n${LENGTH}`).keepsAlive).toBe(true);
    expect(parse(`${OK}${LENGTH}`, true).keepsAlive).toBe(true);
  });

  it('is closed if its end is the end of the body, whatever the fields say', () => {
    expect(parse(`${OK}Connection: keep-alive\n`).keepsAlive).toBe(false);
  });

  it.each([
    ['timeout=5', 5_000],
    ['max=100, Timeout=15', 15_000],
    ['timeout=5;max=3', 5_000],
    ['timeout=0', 0],
    ['max=100', -1],
    ['xtimeout=5', -1],
    ['timeout=99999999', -1],
    ['timeout=soon', -1],
    ['', -1],
  ])('is kept as Keep-Alive says: "%s"', (value, keepAliveMs) => {
    expect(parse(`${OK}${LENGTH}Keep-Alive: ${value}\n`).keepAliveMs).toBe(keepAliveMs);
  });
});

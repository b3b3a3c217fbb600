/** The fields of a backend's response that reach the client. */
import { describe, expect, it } from '@jest/globals';
import { QUOTA_FIELDS } from '../../quota/model/headers.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';
import { passedFields } from './response-headers.js';

function passed(headers: Record<string, string | string[]>): string[] {
  const fields = Object.entries(headers).flatMap(([name, values]) => [values].flat().flatMap((value) => [name, value]));
  return fieldsOfLines(passedFields(linesOf(fields)).lines);
}

describe('end-to-end fields', () => {
  it('arrive unchanged', () => {
    expect(
      passed({
        'content-type': 'text/plain',
        'content-length': '3',
        etag: '"a"',
        'x-empty': '',
        location: '/customers/1',
      }),
    ).toEqual([
      'content-type',
      'text/plain',
      'content-length',
      '3',
      'etag',
      '"a"',
      'x-empty',
      '',
      'location',
      '/customers/1',
    ]);
  });

  it('arrive as often as they were sent', () => {
    expect(passed({ 'set-cookie': ['a=1', 'b=2'], link: ['<x>', '<y>'] })).toEqual([
      'set-cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'link',
      '<x>',
      'link',
      '<y>',
    ]);
  });
});

describe('Via', () => {
  it.each<[string, string[], string]>([
    ['stays, and we stand behind', ['Via', '1.0 fred, 1.1 p.example'], '1.0 fred, 1.1 p.example, 1.1 trailgate'],
    ['in several fields', ['Via', '1.0 fred', 'VIA', '1.1 p.example'], '1.0 fred, 1.1 p.example, 1.1 trailgate'],
    ['and where nobody has, we say nothing', [], ''],
  ])('%s', (_what, fields, expected) => {
    const all = fieldsOfLines(passedFields(linesOf([...fields, 'ETag', '"a"'])).lines);
    expect(all.filter((_, at) => at % 2 === 1 && all[at - 1]?.toLowerCase() === 'via').join(', ')).toBe(expected);
    expect(all).toContain('"a"');
  });
});

describe('Content-Length', () => {
  it.each([
    ['Content-Length: 5', '5'],
    ['Content-Length: 0', '0'],
    ['Content-Length: 010', '10'],
    ['Content-Length:010', '10'],
    ['Content-Length:05', '5'],
    ['Content-Length:5', '5'],
    ['content-length: \t0005 ', '5'],
    ['Content-Length: 5 ', '5'],
    ['Content-Length: 000', '0'],
  ])('arrives without leading zeros: %j', (line, expected) => {
    const { lines } = passedFields(`ETag: "a"\r\n${line}\r\nX-A: b\r\n`);
    expect(lines).toBe(`ETag: "a"\r\n${line.slice(0, line.indexOf(':'))}: ${expected}\r\nX-A: b\r\n`);
  });
});

describe('fields that a backend must not set', () => {
  it.each([
    'connection',
    'keep-alive',
    'proxy-connection',
    'proxy-authenticate',
    'proxy-authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'x-request-id',
    'x-account-id',
    'x-api-key-id',
    'x-api-scopes',
    ...QUOTA_FIELDS,
  ])('include %s', (name) => {
    expect(passed({ [name]: 'whatever', 'x-kept': '1' })).toEqual(['x-kept', '1']);
    expect(passed({ [name]: ['whatever', 'more'], 'x-kept': '1' })).toEqual(['x-kept', '1']);
  });

  it.each([['x-hop'], ['close, X-Hop'], [' x-hop\t, keep-alive'], [['close', 'x-hop']]])(
    'include those that its Connection names: %j',
    (connection) => {
      expect(passed({ connection, 'x-hop': '1', 'x-kept': '2' })).toEqual(['x-kept', '2']);
    },
  );

  it.each([
    ['Content-Length', '3'],
    ['Content-Type', 'text/plain'],
    ['Content-Encoding', 'gzip'],
    ['Content-Range', 'bytes 2-4/10'],
    ['Cache-Control', 'no-store'],
    ['Expires', '0'],
    ['Age', '60'],
    ['Vary', 'Authorization'],
    ['Date', 'Sun, 06 Nov 1994 08:49:37 GMT'],
  ])('do not include a field for every recipient, even if Connection names it: %s', (name, value) => {
    for (const connection of [name.toLowerCase(), `close, ${name}`, `X-Hop,${name.toUpperCase()}`]) {
      expect(passed({ connection, [name]: value, 'x-hop': '1', etag: '"a"' })).toEqual(
        connection.startsWith('X-Hop') ? [name, value, 'etag', '"a"'] : [name, value, 'x-hop', '1', 'etag', '"a"'],
      );
    }
  });

  it('do not include Via, even if Connection names it', () => {
    expect(passed({ connection: 'via', via: '1.0 fred' })).toEqual(['via', '1.0 fred', 'Via', '1.1 trailgate']);
  });

  it.each(['keep-alive', 'close', 'Keep-Alive', ''])('do not include others for Connection: "%s"', (connection) => {
    expect(passed({ connection, 'x-kept': '2' })).toEqual(['x-kept', '2']);
  });

  it('do not include names of Object.prototype members', () => {
    const headers = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>;
    expect(passed(headers)).toEqual(['__proto__', 'a', 'constructor', 'b']);
  });
});

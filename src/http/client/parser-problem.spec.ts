/** Requests that cannot be parsed get the same error code and format from every listener. */
import { expect, it } from '@jest/globals';
import { ErrorPages } from '../../platform/problems/error-pages.js';
import { parserProblemCode, parserProblemText } from './parser-problem.js';

const errorOf = (code: string, text = '') => Object.assign(new Error(), { code, rawPacket: Buffer.from(text) });

it.each([
  ['HPE_HEADER_OVERFLOW', '', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '', 'content_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '', 'request_timeout'],
  ['HPE_INVALID_METHOD', 'BREW / HTTP/1.1\r\nHost: h\r\n\r\n', 'not_implemented'],
  ['HPE_INVALID_METHOD', '\u0016\u0003\u0001', 'bad_request'],
  ['HPE_INVALID_CHUNK_SIZE', '', 'bad_request'],
])('parser error %s for %j becomes %s', (code, text, problem) => {
  expect(parserProblemCode(errorOf(code, text))).toBe(problem);
});

it('the response has the right Content-Length and closes the connection', () => {
  const said = {
    code: 'content_too_large',
    detail: 'Größe',
    requestId: 'req_1',
    dateLine: 'Date: Sun, 22 Nov 2026 10:00:00 GMT\r\n',
    lines: 'X-Request-Id: req_1\r\n',
  } as const;
  const text = parserProblemText(said, new ErrorPages('https://api.example.com'));
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toBe(
    'HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json; charset=utf-8\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\nDate: Sun, 22 Nov 2026 10:00:00 GMT\r\n` +
      'Cache-Control: no-store\r\nX-Request-Id: req_1\r\nConnection: close',
  );
  expect(JSON.parse(body)).toMatchObject({
    status: 413,
    code: 'content_too_large',
    detail: 'Größe',
    request_id: 'req_1',
  });
});

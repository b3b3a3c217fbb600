/** Response fields of the gateway: each step sets its own, and they are joined when the head is written. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';
import { HttpDate } from '../../http/client/http-date.js';
import { Exchange } from './exchange.js';

let exchange: Exchange;

beforeEach(() => {
  const message = { method: 'GET', headers: { 'x-request-id': 'abc' } } as unknown as ClientMessage;
  const date = new HttpDate({ now: () => 0 });
  const owner = { date, onEnd: () => undefined, onHandedOver: () => undefined };
  exchange = new Exchange(message, {} as ClientResponse, '/api/v1/customers?limit=1', '192.0.2.1', 'https', owner);
});

const NAME = 'X-Request-Id: abc\r\n';

describe('the field lines of a response', () => {
  it('are only the request ID until a step adds others', () => {
    expect([exchange.responseLines, exchange.problemLines]).toEqual([NAME, NAME]);
  });

  it('have the same order, whatever order the steps set them in', () => {
    exchange.proxyStatusLine = 'Proxy-Status: trailgate\r\n';
    exchange.quotaLines = 'RateLimit: "key-minute";r=1;t=9\r\n';
    exchange.endingLines = 'Deprecation: @1\r\n';
    exchange.corsLines = 'Vary: Origin\r\n';
    exchange.secureLines = 'Strict-Transport-Security: max-age=1\r\n';
    expect(exchange.responseLines.split('\r\n').map((line) => line.replace(/:.*/, ''))).toEqual([
      'X-Request-Id',
      'Strict-Transport-Security',
      'Vary',
      'Deprecation',
      'RateLimit',
      'Proxy-Status',
      '',
    ]);
  });

  it('contain the refunded limits after a refund, and otherwise do not change', () => {
    exchange.corsLines = 'Vary: Origin\r\n';
    exchange.quotaLines = 'X-RateLimit-Remaining: 1\r\n';
    exchange.proxyStatusLine = 'Proxy-Status: trailgate\r\n';
    exchange.quotaLines = 'X-RateLimit-Remaining: 2\r\n';
    expect(exchange.responseLines).toBe(
      `${NAME}Vary: Origin\r\nX-RateLimit-Remaining: 2\r\nProxy-Status: trailgate\r\n`,
    );
  });

  it('omit a distant reset time in problems only', () => {
    exchange.quotaLines = 'X-RateLimit-Limit: 5\r\nX-RateLimit-Reset: 2000000\r\n';
    exchange.proxyStatusLine = 'Proxy-Status: trailgate\r\n';
    expect(exchange.problemLines).toBe(`${NAME}X-RateLimit-Limit: 5\r\nProxy-Status: trailgate\r\n`);
    expect(exchange.responseLines).toBe(`${NAME}${exchange.quotaLines}Proxy-Status: trailgate\r\n`);
  });
});

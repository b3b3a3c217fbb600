import { describe, expect, it } from '@jest/globals';
import { createSecret } from '../../keys/api-key-format.js';
import { continuedTrace, requestId } from './request-ids.js';

const OURS = /^req_[0-9a-f]{24}$/;

describe('the request ID', () => {
  it.each(['abc', '7b1c-42.x_Y', 'a'.repeat(128), '0', 'req_1'])("is the client's own if it is valid: %s", (id) => {
    expect(requestId(id)).toBe(id);
  });

  it.each([
    undefined,
    '',
    'a'.repeat(129),
    'a b',
    'a"b',
    'a\nb',
    'a,b',
    'ünique',
    '<script>',
    '${jndi:ldap://x}',
    'a/b',
    '{"a":1}',
  ])('is generated if the client sends %j', (offered) => {
    expect(requestId(offered)).toMatch(OURS);
  });

  it('never contains an API key', () => {
    for (const secret of [createSecret('live'), createSecret('test')]) {
      expect(requestId(secret)).toMatch(OURS);
      expect(requestId(`req-${secret}-1`)).toMatch(OURS);
    }
  });

  it('is different for each of 20,000 requests', () => {
    const ids = new Set(Array.from({ length: 20_000 }, () => requestId(undefined)));
    expect(ids.size).toBe(20_000);
  });
});

describe('the trace context', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const SPAN = '00f067aa0ba902b7';

  it.each(['00', '01'])("continues the caller's trace and flags %s in a new span", (flags) => {
    const [version, trace, span, sent] = continuedTrace(`00-${TRACE}-${SPAN}-${flags}`).split('-');
    expect([version, trace, sent]).toEqual(['00', TRACE, flags]);
    expect(span).toMatch(/^[0-9a-f]{16}$/);
    expect(span).not.toBe(SPAN);
  });

  it.each([
    [`01-${TRACE}-${SPAN}-01-extra`, '01'],
    [`01-${TRACE}-${SPAN}-ff`, '01'],
    [`cc-${TRACE}-${SPAN}-00-`, '00'],
    [`cc-${TRACE}-${SPAN}-02`, '00'],
  ])('of a higher version keeps its trace and known flags: %s', (offered, flags) => {
    expect(continuedTrace(offered)).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`));
  });

  it.each([
    undefined,
    '',
    'junk',
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-extra`,
    `01-${TRACE}-${SPAN}-01extra`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\r\nX-Account-Id: acc_1`,
    `01-${TRACE}-${SPAN}-01-\r\nX-Account-Id: acc_1`,
  ])('is omitted if the caller sends %j', (offered) => {
    expect(continuedTrace(offered)).toBe('');
  });
});

/** A backend receives the client's end-to-end fields, and the gateway's own, which clients cannot forge or remove. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TRUSTED_NAMES } from '../../../test/support/trusted-names.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';
import { backendRequestHeaders, type ForwardedIdentity } from './request-headers.js';

const IDENTITY: ForwardedIdentity = {
  accountId: 'acc_1',
  keyId: 'key_1',
  scopes: 'customers:read customers:write',
  requestId: 'req_1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  clientAddress: '192.0.2.7',
  scheme: 'https',
  host: 'api.example.com',
  prefix: '/api/v1',
  httpVersion: '1.1',
};

const OURS: Readonly<Record<string, string>> = {
  'x-account-id': 'acc_1',
  'x-api-key-id': 'key_1',
  'x-api-scopes': 'customers:read customers:write',
  'x-request-id': 'req_1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  forwarded: 'for=192.0.2.7;host="api.example.com";proto=https',
  'x-forwarded-for': '192.0.2.7',
  'x-forwarded-host': 'api.example.com',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/api/v1',
  via: '1.1 trailgate',
};

/** Returns the sent fields as name and value pairs, names in lower case. */
function sent(rawHeaders: readonly string[], identity: Partial<ForwardedIdentity> = {}): [string, string][] {
  const lines = backendRequestHeaders(linesOf(rawHeaders), { ...IDENTITY, ...identity });
  return pairs(fieldsOfLines(lines)).map(([name, value]) => [name.toLowerCase(), value]);
}

function pairs(flat: readonly string[]): [string, string][] {
  expect(flat.length % 2).toBe(0);
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as [string, string]] : []));
}

const oursOnly = Object.entries(OURS);

/** Names that only the gateway sets, hop-by-hop names, and names that backends trust. */
const RESERVED = [
  ...Object.keys(OURS).filter((name) => name !== 'via'),
  ...words('authorization connection expect host http2-settings keep-alive proxy-authenticate'),
  ...words('proxy-authorization proxy-connection te trailer transfer-encoding upgrade proxy'),
  ...words('x-forwarded-port x-forwarded-server x-forwarded-ssl x-forwarded-whatever x-trailgate-anything'),
  ...TRUSTED_NAMES.filter((name) => !(name in OURS)),
];

function words(text: string): readonly string[] {
  return text.split(' ');
}

const spellings = (name: string): string[] => [
  name,
  name.toUpperCase(),
  name.replaceAll(/(^|-)[a-z]/g, (start) => start.toUpperCase()),
  ...['_', '.', '~', '!'].flatMap((other) =>
    name.includes('-') ? [name.replaceAll('-', other), name.replace('-', other).toUpperCase()] : [],
  ),
];

describe('reserved request fields', () => {
  it.each(RESERVED)('of the name %s do not reach the backend, in any spelling', (name) => {
    for (const spelling of spellings(name)) {
      // Twice, because verdicts are cached.
      for (let time = 0; time < 2; time++) expect(sent([spelling, 'evil'])).toEqual(oursOnly);
    }
  });

  it('include a Content-Length with another character for the dash', () => {
    for (const name of ['Content_Length', 'Content.Length', 'CONTENT~LENGTH'])
      expect(sent([name, '5'])).toEqual(oursOnly);
  });

  it('arrive exactly once with the value of the gateway, despite many forged ones', () => {
    const forged = RESERVED.flatMap(spellings).flatMap((name) => [name, 'evil']);
    expect(sent([...forged, 'Accept', '*/*', ...forged])).toEqual([['accept', '*/*'], ...oursOnly]);
  });

  it('include any other field that contains an API key', () => {
    const key = `tg_live_${'a'.repeat(36)}`;
    const fields = [
      'X-Api-Key',
      key,
      'Cookie',
      `session=1; token=${key}`,
      'Referer',
      `https://x/?key=${key}`,
      'X-Note',
      `tg_test_${'0'.repeat(36)}`,
    ];
    expect(sent([...fields, 'X-Kept', 'tg_live_short', 'X-Other', 'tg_'])).toEqual([
      ['x-kept', 'tg_live_short'],
      ['x-other', 'tg_'],
      ...oursOnly,
    ]);
  });

  it('include a Via field with an API key, but not the other Via fields', () => {
    const fields = ['Via', '1.0 first', 'Via', `1.1 tg_live_${'a'.repeat(36)}`, 'Via', '2 second'];
    const { via: _ours, ...others } = OURS;
    expect(sent(fields)).toEqual([...Object.entries(others), ['via', '1.0 first, 2 second, 1.1 trailgate']]);
  });
});

describe('fields named by Connection are removed (RFC 9110 section 7.6.1)', () => {
  it.each([
    ['one field', ['Connection', 'X-Hop', 'X-Hop', '1']],
    ['a list, in any case and with spaces', ['Connection', ' close ,\tx-HOP ', 'X-Hop', '1']],
    ['several Connection fields', ['Connection', 'close', 'connection', 'keep-alive, x-hop', 'x-hop', '1']],
    ['the field stands before it', ['X-Hop', '1', 'Connection', 'x-hop']],
    ['the field stands there twice', ['X-Hop', '1', 'x-hop', '2', 'Connection', 'x-hop']],
  ])('%s', (_what, rawHeaders) => {
    expect(sent(['Accept', '*/*', ...rawHeaders])).toEqual([['accept', '*/*'], ...oursOnly]);
  });

  it.each([...Object.keys(OURS), 'host', 'authorization'])('but %s can be neither stripped nor smuggled in', (name) => {
    expect(sent(['Connection', name])).toEqual(oursOnly);
    expect(
      sent(['Connection', `close, ${name}`, name, name === 'via' ? '' : 'evil']).filter(
        ([sentName]) => sentName !== 'via',
      ),
    ).toEqual(oursOnly.filter(([sentName]) => sentName !== 'via'));
  });

  it('but Content-Length stays, because it frames the body', () => {
    expect(sent(['Content-Length', '5', 'Connection', 'content-length'])).toEqual([
      ['content-length', '5'],
      ...oursOnly,
    ]);
  });

  it.each([
    ['Content-Length: 5', '5'],
    ['Content-Length: 0', '0'],
    ['Content-Length: 010', '10'],
    ['Content-Length:05', '5'],
    ['content-length: \t0005 ', '5'],
    ['Content-Length: 000', '0'],
    // Exceeds the precision of a double.
    ['Content-Length: 09007199254740993', '9007199254740993'],
  ])('%j arrives as the same number without leading zeros', (line, expected) => {
    expect(backendRequestHeaders(`Accept: a\r\n${line}\r\nX-A: b\r\n`, IDENTITY)).toMatch(
      new RegExp(`^Accept: a\r\ncontent-length: ${expected}\r\nX-A: b\r\n`, 'i'),
    );
  });

  it.each(['keep-alive', 'close', 'Keep-Alive', 'Upgrade', ''])('and "%s" removes no other field', (value) => {
    expect(sent(['Connection', value, 'Accept', '*/*'])).toEqual([['accept', '*/*'], ...oursOnly]);
  });
});

describe('fields that the gateway adds', () => {
  it('append to the Via of the client (RFC 9110 section 7.6.3)', () => {
    const via = (rawHeaders: string[], identity = {}) =>
      sent(rawHeaders, identity).find(([name]) => name === 'via')?.[1];
    expect(via(['Via', '1.0 fred, 1.1 p.example'])).toBe('1.0 fred, 1.1 p.example, 1.1 trailgate');
    expect(via(['Via', '1.0 fred', 'VIA', '1.1 p.example'])).toBe('1.0 fred, 1.1 p.example, 1.1 trailgate');
    expect(via([], { httpVersion: '1.0' })).toBe('1.0 trailgate');
  });

  it('quote an IPv6 address in Forwarded (RFC 7239 section 6)', () => {
    const fields = new Map(sent([], { clientAddress: '2001:db8::7' }));
    expect(fields.get('forwarded')).toBe('for="[2001:db8::7]";host="api.example.com";proto=https');
    expect(fields.get('x-forwarded-for')).toBe('2001:db8::7');
  });
});

describe('tracestate', () => {
  const continued = [
    'tracestate',
    'a=1',
    'Traceparent',
    '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01',
    'TraceState',
    'b=2',
  ];

  it('is forwarded with the trace', () => {
    expect(sent(continued)).toEqual([['tracestate', 'a=1'], ['tracestate', 'b=2'], ...oursOnly]);
  });

  it('is removed without a valid traceparent, and no trace is started', () => {
    const withoutTrace = oursOnly.filter(([name]) => name !== 'traceparent');
    expect(sent(['tracestate', 'a=1'], { traceparent: '' })).toEqual(withoutTrace);
    expect(sent(continued, { traceparent: '' })).toEqual(withoutTrace);
  });
});

describe('other fields', () => {
  it('arrive unchanged: order, case, duplicates, empty values, bytes beyond ASCII', () => {
    const rawHeaders = [
      'Accept',
      'a',
      'x-CUSTOM',
      'ü \x80\xff',
      'ACCEPT',
      'b',
      'Cookie',
      'a=1',
      'Cookie',
      'b=2',
      'X-Empty',
      '',
      'X_Plain',
      '1',
    ];
    expect(fieldsOfLines(backendRequestHeaders(linesOf(rawHeaders), IDENTITY)).slice(0, rawHeaders.length)).toEqual(
      rawHeaders,
    );
  });

  it('never set a field of the gateway, whatever their names', () => {
    const name = fc.oneof(
      fc.constantFrom(...RESERVED.flatMap(spellings)),
      fc.stringMatching(/^[A-Za-z0-9_.~-]{1,20}$/),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.constant('evil')), { maxLength: 10 }), (fields) => {
        const result = sent(fields.flat());
        for (const [own, value] of oursOnly) {
          const found = result
            .filter(([sentName]) => sentName.replaceAll(/[^a-z0-9]/g, '-') === own)
            .map(([, found]) => found);
          expect(found.map((text) => text.replace(/^evil, /, ''))).toEqual([value]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import { cpuMsOf } from '../../test/support/cpu-time.js';
import type { Problem } from '../platform/problems/errors.js';
import { createSecret, withoutSecrets } from './api-key-format.js';
import { bearerSecret, insufficientScopeChallenge, refusedKey } from './bearer.js';

const PATH = '/api/v1/customers';
const KEY = createSecret('live');

/** Returns the secret or the problem for these Authorization headers. */
function present(headers: readonly string[], url = PATH): string | Problem {
  const raw = headers.flatMap((value) => ['Authorization', value]);
  return bearerSecret(headers[0], ['Host', 'api', ...raw], url);
}

/** Returns the detail of a problem. */
function detailOf(secret: string | Problem): string | undefined {
  return typeof secret === 'string' ? undefined : secret.options.detail;
}

function refusal(headers: readonly string[], url = PATH): { status: number; code: string; challenge: string } {
  const problem = present(headers, url);
  if (typeof problem === 'string') throw new Error(`let in: ${problem}`);
  const [name, challenge = ''] = problem.options.headers ?? [];
  expect(name).toBe('WWW-Authenticate');
  return { status: problem.status, code: problem.code, challenge };
}

describe('the key of a request', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('is taken from the scheme %s, whatever its case', (scheme) => {
    expect(present([`${scheme} ${KEY}`])).toBe(KEY);
  });

  it.each([`Bearer  ${KEY}`, `Bearer ${KEY} `, `Bearer    ${KEY}   `])(
    'may be surrounded by more spaces: %j',
    (header) => {
      expect(present([header])).toBe(KEY);
    },
  );

  it('may be a test key', () => {
    const key = createSecret('test');
    expect(present([`Bearer ${key}`])).toBe(key);
  });

  it('is not read from other fields', () => {
    expect(detailOf(bearerSecret(undefined, ['Host', 'api', 'X-Api-Key', KEY], PATH))).toMatch(/Authorization: Bearer/);
  });
});

describe('a request without credentials', () => {
  it('is challenged without an error code (RFC 6750 section 3.1)', () => {
    expect(refusal([])).toEqual({ status: 401, code: 'missing_api_key', challenge: 'Bearer realm="api"' });
  });

  it.each([
    'Basic dXNlcjpwYXNz',
    'Token abc',
    KEY,
    'Bearer',
    'Bearer ',
    'Bearer    ',
    'Bearer\t',
    '',
    'Bear',
    'Bearerx',
  ])('may have the Authorization header %j', (header) => {
    expect(refusal([header])).toEqual({ status: 401, code: 'missing_api_key', challenge: 'Bearer realm="api"' });
  });
});

describe('the error detail of a request without credentials', () => {
  const detailFor = (header: string) => detailOf(present([header]));

  it.each(['Bearer', 'bearer', 'Bearer ', 'Bearer    '])('%j: no key follows', (header) => {
    expect(detailFor(header)).toMatch(/^No key follows Bearer/);
  });

  it.each(['Basic dXNlcjpwYXNz', KEY, 'Bearerx', ''])('%j: another scheme', (header) => {
    expect(detailFor(header)).toMatch(/^The Authorization header has another scheme than Bearer/);
  });
});

describe('a malformed key', () => {
  const flipped = KEY.slice(0, -1) + (KEY.endsWith('0') ? '1' : '0');
  it.each([
    ['a wrong checksum', flipped],
    ['a key that was cut off', KEY.slice(0, -1)],
    ['a key with something behind it', `${KEY}x`],
    ['two keys', `${KEY} ${KEY}`],
    ['two keys with a comma', `${KEY}, ${KEY}`],
    ['another environment', KEY.replace('tg_live_', 'tg_prod_')],
    ['a key in quotes', `"${KEY}"`],
    ['characters that base62 does not have', `${KEY.slice(0, 20)}-${KEY.slice(21)}`],
    ['a foreign secret of 15 characters', 'abcdefghijklmno'],
    ['a foreign secret of 201 characters', 'a'.repeat(201)],
    ['a foreign secret with = inside it', 'abcdefgh=ijklmnop'],
    ['characters beyond ASCII', 'ÿ'.repeat(KEY.length)],
    ['a token of 16 KiB', 'a'.repeat(16 * 1024)],
    ['a key with control characters around it', `\u0000${KEY}`],
  ])('%s is refused as invalid, with a challenge that says so', (_what, token) => {
    const { status, code, challenge } = refusal([`Bearer ${token}`]);
    expect({ status, code }).toEqual({ status: 401, code: 'invalid_api_key' });
    expect(challenge).toMatch(
      /^Bearer realm="api", error="invalid_token", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/,
    );
  });

  it('is not repeated in the error', () => {
    const problem = present([`Bearer ${flipped}`]);
    expect(JSON.stringify([problem, String(problem), (problem as Problem).options])).not.toContain(flipped.slice(8));
  });

  it('is refused in linear time however long it is', () => {
    const ms = cpuMsOf(() => {
      for (let round = 0; round < 100; round++) present([`Bearer ${' '.repeat(8_000)}x${' '.repeat(8_000)}`]);
    });
    expect(ms).toBeLessThan(500);
  });
});

describe('a foreign secret', () => {
  it.each([
    'sk_live_5rY7f8oLRgnLaTdw',
    'a'.repeat(16),
    'a'.repeat(200),
    'YWJjZGVmZ2hpamtsbW5v==',
    '-._~+/-._~+/-._~+/',
  ])('%s is returned, for the authenticator to look up', (secret) =>
    expect(present([`Bearer ${secret}`])).toBe(secret),
  );
});

describe('a request with two Authorization headers', () => {
  it.each([
    ['twice the same key', [`Bearer ${KEY}`, `Bearer ${KEY}`]],
    ['a key and another scheme', [`Bearer ${KEY}`, 'Basic eDp5']],
    ['another scheme and a key', ['Basic eDp5', `Bearer ${KEY}`]],
  ])('%s is malformed, whatever the first header says', (_what, headers) => {
    const { status, code, challenge } = refusal(headers);
    expect({ status, code }).toEqual({ status: 400, code: 'malformed_authorization' });
    expect(challenge).toMatch(/^Bearer realm="api", error="invalid_request", error_description="[^"\\]+"$/);
  });

  it('counts headers whatever their case', () => {
    const raw = ['authorization', `Bearer ${KEY}`, 'AUTHORIZATION', `Bearer ${KEY}`];
    expect(detailOf(bearerSecret(`Bearer ${KEY}`, raw, PATH))).toMatch(/more than one/);
  });
});

describe('a key in the URL', () => {
  const inQuery = `${PATH}?api_key=${KEY}`;

  it('is not accepted as a credential', () => {
    expect(refusal([], inQuery)).toEqual({ status: 401, code: 'missing_api_key', challenge: 'Bearer realm="api"' });
  });

  it.each([inQuery, `${PATH}/${KEY}`, `${PATH}?q=a&token=Bearer%20${KEY}`, `${PATH}?x=${createSecret('test')}`])(
    'makes a request with an Authorization header malformed: %s',
    (url) => {
      const { status, code, challenge } = refusal([`Bearer ${KEY}`], url);
      expect({ status, code }).toEqual({ status: 400, code: 'malformed_authorization' });
      expect(challenge).toContain('error="invalid_request"');
    },
  );

  it('gets the advice to rotate it, and is not repeated', () => {
    const problem = present([`Bearer ${KEY}`], inQuery) as Problem;
    expect(problem.options.detail).toMatch(/Rotate this key/);
    expect(JSON.stringify(problem.options)).not.toContain(KEY);
  });

  it('is not detected in parameters that only begin like one', () => {
    expect(present([`Bearer ${KEY}`], `${PATH}?q=tg_live_and_tg_test_drives&tg_=1`)).toBe(KEY);
  });
});

describe('challenges', () => {
  it('name all the scopes that are needed, in one challenge', () => {
    expect(insufficientScopeChallenge(['customers:read', 'tours:write'])).toBe(
      'Bearer realm="api", error="insufficient_scope", scope="customers:read tours:write"',
    );
  });

  it('contain only characters that error_description allows', () => {
    const { options } = refusedKey('invalid_api_key', 'a "b" \\c\r\nSet-Cookie: d é');
    const description = /error_description="(.*)"$/s.exec(options.headers?.[1] ?? '')?.[1];
    expect(description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  it('report a key in the URL in any encoding, and withoutSecrets redacts it', () => {
    const secret = createSecret('live');
    const encoded = [...secret].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
    for (const written of [secret, secret.replace('_', '%5f'), secret.replace('_', '%5F'), encoded]) {
      for (const url of [`/api/v1/orders/${written}`, `/api/v1/orders?x=%zz&key=${written}`]) {
        expect(detailOf(bearerSecret(`Bearer ${secret}`, ['Authorization', `Bearer ${secret}`], url))).toMatch(/URL/);
        expect(withoutSecrets(url)).not.toContain(secret);
        expect(withoutSecrets(url)).not.toContain(written);
      }
    }
    expect(withoutSecrets('/api/v1/orders?q=100%25')).toBe('/api/v1/orders?q=100%25');
  });

  it('do not repeat keys, because withoutSecrets redacts plain and percent-encoded keys in one text', () => {
    const [plain, other] = [createSecret('live'), createSecret('live')];
    for (const url of [`/${plain}/${other.replace('_', '%5F')}`, `/${other.replace('_', '%5f')}?a=${plain}`]) {
      const redacted = withoutSecrets(url);
      for (const secret of [plain, other]) expect(redacted).not.toContain(secret.slice(8));
    }
  });
});

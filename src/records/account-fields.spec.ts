import { describe, expect, it } from '@jest/globals';
import { createAccountSchema, updateAccountSchema } from './account-fields.js';
import { createApiKeySchema, rotateApiKeySchema, updateApiKeySchema } from '../accounts/api-key-fields.js';

const account = (fields: object) => createAccountSchema.safeParse({ name: 'Tours', plan: 'starter', ...fields });
const key = (fields: object) => createApiKeySchema.safeParse({ name: 'k', scopes: ['a:read'], ...fields });
const path = (result: { error?: { issues: { path: PropertyKey[] }[] } | undefined }) => result.error?.issues[0]?.path;

describe('the fields of an account', () => {
  it('default to UTC and the first of the month', () => {
    expect(account({}).data).toEqual({ name: 'Tours', plan: 'starter', time_zone: 'UTC', billing_day: 1 });
  });

  it.each(['Europe/Vienna', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'UTC', 'Etc/GMT+5'])(
    'keep the time zone %s as written',
    (name) => expect(account({ time_zone: name }).data?.time_zone).toBe(name),
  );

  it('correct the case of a time zone', () => {
    expect(account({ time_zone: 'europe/vienna' }).data?.time_zone).toBe('Europe/Vienna');
  });

  it.each(['+01:00', 'Europe/Salzburg', '', 'Mars/Olympus', '../../etc/passwd'])('refuse the time zone %j', (name) =>
    expect(path(account({ time_zone: name }))).toEqual(['time_zone']),
  );

  it.each([0, 32, 1.5, '1', null])('refuse the billing day %j', (day) =>
    expect(path(account({ billing_day: day }))).toEqual(['billing_day']),
  );

  it('trim a name, and refuse an empty, a long one and one with control characters', () => {
    expect(account({ name: '  Tours  ' }).data?.name).toBe('Tours');
    for (const name of ['', '   ', 'x'.repeat(201), 'a\nb', 'a\u0000b', 7]) {
      expect(path(account({ name }))).toEqual(['name']);
    }
  });

  it('reject lone surrogates', () => {
    expect(path(account({ name: 'Isar \ud800' }))).toEqual(['name']);
    expect(account({ name: 'Isar \u{1f6f6}' }).data?.name).toBe('Isar \u{1f6f6}');
  });

  it('reject bidirectional controls in names, and accept names of every script', () => {
    for (const code of [0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069]) {
      expect(path(account({ name: `Isar${String.fromCodePoint(code)}gnitfaR` }))).toEqual(['name']);
    }
    for (const name of ['שיט בירדן', 'رحلات النهر', 'С‏еверный', '激流', 'Zoë 🛶']) {
      expect(account({ name }).data?.name).toBe(name);
    }
  });

  it('reject invisible names', () => {
    for (const code of [0x200b, 0x200d, 0xad, 0x34f, 0x301, 0x115f, 0x2060, 0x2800, 0x3000, 0x3164, 0xfe0f, 0xe0041]) {
      expect([code, path(account({ name: String.fromCodePoint(code, code) }))]).toEqual([code, ['name']]);
    }
    for (const name of ['.', '👩‍🚀', '‌ا', 'e\u0301', '⠃']) expect(account({ name }).data?.name).toBe(name);
  });

  it('reject unknown fields, such as an ID, a status at creation, or a prototype', () => {
    expect(account({ id: 'acc_mine' }).success).toBe(false);
    expect(account({ status: 'active' }).success).toBe(false);
    expect(updateAccountSchema.safeParse({ created_at: 1 }).success).toBe(false);
    expect(updateAccountSchema.safeParse(JSON.parse('{"__proto__": {"plan": "pro"}}')).success).toBe(false);
  });

  it('have no defaults in an update', () => {
    expect(updateAccountSchema.parse({ plan: 'pro' })).toEqual({ plan: 'pro' });
    expect(updateApiKeySchema.parse({})).toEqual({});
  });
});

describe('the fields of a key', () => {
  it('default to a live key without expiry that works from any address', () => {
    expect(key({}).data).toMatchObject({ environment: 'live', expires_at: null, allowed_ips: [] });
  });

  it.each(['203.0.113.7', '203.0.113.0/24', '2001:db8::1', '2001:db8::/32'])('take the address %s', (ip) =>
    expect(key({ allowed_ips: [ip] }).data?.allowed_ips).toEqual([ip]),
  );

  it('store an IPv4-mapped address as IPv4, and each address once', () => {
    const given = ['::ffff:203.0.113.0/120', '203.0.113.0/24', '::ffff:203.0.113.7'];
    expect(key({ allowed_ips: given }).data?.allowed_ips).toEqual(['203.0.113.0/24', '203.0.113.7']);
  });

  it.each([
    ['10.0.0.1/8', 'has host bits set: write 10.0.0.0/8'],
    ['::ffff:203.0.113.0/24', 'is an IPv4-mapped block with a prefix below 96: write 203.0.113.0/24'],
  ])('reject the block %s with a suggestion', (block, message) => {
    for (const schema of [createApiKeySchema, updateApiKeySchema]) {
      const issues = schema.safeParse({ allowed_ips: [block] }).error?.issues ?? [];
      expect(issues.filter(({ path }) => path[0] === 'allowed_ips').map((issue) => issue.message)).toEqual([message]);
    }
  });

  it.each(['203.0.113.256', '203.0.113.0/33', 'example.com', '10.0.0.1-10.0.0.9', ''])('refuse the address %j', (ip) =>
    expect(path(key({ allowed_ips: ['203.0.113.7', ip] }))).toEqual(['allowed_ips', 1]),
  );

  it.each(['Customers:read', 'customers', 'customers:', '*:read', 'a:b:c'])('refuse the scope %j', (scope) =>
    expect(path(key({ scopes: ['a:read', scope] }))).toEqual(['scopes', 1]),
  );

  it('store duplicate scopes once, and require at least one', () => {
    expect(key({ scopes: ['a:read', 'a:read'] }).data?.scopes).toEqual(['a:read']);
    expect(path(key({ scopes: [] }))).toEqual(['scopes']);
  });

  it.each(['2027-01-31', 'tomorrow', '2027-01-31T10:00:00', 1_800_000_000_000, '2027-02-30T00:00:00Z'])(
    'refuse the expiry %j',
    (value) => expect(path(key({ expires_at: value }))).toEqual(['expires_at']),
  );

  it('allow exactly four overlaps', () => {
    for (const seconds of [0, 3_600, 86_400, 604_800]) {
      expect(rotateApiKeySchema.parse({ overlap_seconds: seconds })).toMatchObject({ overlap_seconds: seconds });
    }
    for (const seconds of [1, -1, 604_801, '3600', null]) {
      expect(rotateApiKeySchema.safeParse({ overlap_seconds: seconds }).success).toBe(false);
    }
  });
});

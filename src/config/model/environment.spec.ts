/** The environment: defaults, every fault at once, and no secret in an error. */
import { describe, expect, it } from '@jest/globals';
import { EnvironmentError, readEnvironment } from './environment.js';

function faultsOf(variables: Record<string, string>): readonly string[] {
  try {
    readEnvironment(variables);
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
  return [];
}

describe('readEnvironment', () => {
  it('defaults to ./data and log level info if nothing is set', () => {
    expect(readEnvironment({})).toEqual({ dataDir: './data', logLevel: 'info' });
  });

  it('reads every variable', () => {
    const environment = readEnvironment({
      TRAILGATE_GATEWAY_PORT: '9080',
      TRAILGATE_ADMIN_PORT: '0',
      TRAILGATE_CUSTOMERS_PORT: '65535',
      DATABASE_URL: 'postgresql://user:pw@db/trailgate',
      REDIS_URL: 'rediss://cache:6380',
      TRAILGATE_DATA_DIR: '/var/lib/trailgate',
      TRAILGATE_ADMIN_TOKEN: 'x'.repeat(32),
      TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=`,
      LOG_LEVEL: 'warn',
    });
    expect(environment).toEqual({
      gatewayPort: 9080,
      adminPort: 0,
      customersPort: 65_535,
      databaseUrl: 'postgresql://user:pw@db/trailgate',
      redisUrl: 'rediss://cache:6380',
      dataDir: '/var/lib/trailgate',
      adminToken: 'x'.repeat(32),
      secretsKey: `${'a'.repeat(43)}=`,
      logLevel: 'warn',
    });
  });

  it('treats an empty variable as not set', () => {
    expect(readEnvironment({ REDIS_URL: '', DATABASE_URL: ' ', LOG_LEVEL: '' })).toEqual(readEnvironment({}));
  });

  it('names every invalid variable in one error', () => {
    const faults = faultsOf({
      TRAILGATE_GATEWAY_PORT: '65536',
      TRAILGATE_ADMIN_PORT: '-1',
      TRAILGATE_CUSTOMERS_PORT: '40x1',
      DATABASE_URL: 'mysql://db',
      REDIS_URL: 'cache:6379',
      TRAILGATE_ADMIN_TOKEN: 'short',
      TRAILGATE_SECRETS_KEY: 'short',
      LOG_LEVEL: 'verbose',
    });
    expect(faults.map((fault) => fault.split(' ')[0]).toSorted()).toEqual([
      'DATABASE_URL',
      'LOG_LEVEL',
      'REDIS_URL',
      'TRAILGATE_ADMIN_PORT',
      'TRAILGATE_ADMIN_TOKEN',
      'TRAILGATE_CUSTOMERS_PORT',
      'TRAILGATE_GATEWAY_PORT',
      'TRAILGATE_SECRETS_KEY',
    ]);
  });

  it.each([
    [
      'DATABASE_URL',
      'postgres://user:hunter2#x@db/trailgate',
      'has a # that is not escaped: in a password it is written %23',
    ],
    // Read as the host `user`, its port 12, and a fragment.
    [
      'DATABASE_URL',
      'postgres://user:12#hunter2@db/trailgate',
      'has a # that is not escaped: in a password it is written %23',
    ],
    [
      'DATABASE_URL',
      'postgres://user:hunter2%x@db/trailgate',
      'has a % that is not escaped: in a password it is written %25',
    ],
    ['DATABASE_URL', 'postgres://user:hunter2/x@db/trailgate', 'in a user name or password / is written %2F'],
    ['REDIS_URL', 'redis://:hunter2#x@cache:6379', 'in a password # is written %23'],
    ['REDIS_URL', 'redis://user#hunter2@cache:6379', 'has a # that is not escaped'],
    ['REDIS_URL', 'redis+cluster://:a@hunter2@cache:6379', 'has an @ that is not escaped'],
    ['REDIS_URL', 'redis+cluster://:hunter2%@cache:6379', 'has a % that is not escaped'],
    ['REDIS_URL', 'redis+sentinel://:hunter2#x@cache:26379/mymaster', 'in a password # is written %23'],
  ])('says what to escape in a password, without repeating it: %s=%s', (name, value, words) => {
    const faults = faultsOf({ [name]: value });
    expect(faults).toEqual([expect.stringContaining(`${name} `)]);
    expect(faults[0]).toContain(words);
    expect(faults[0]).not.toContain('hunter2');
  });

  it('accepts a password with escaped characters', () => {
    const url = 'postgres://user:a%23b%25c%2Fd%40e@db/trailgate';
    expect(readEnvironment({ DATABASE_URL: url }).databaseUrl).toBe(url);
  });

  it.each([
    'two words that are long enough for a token',
    'first-line-of-the-token-0123456789\nsecond',
    'käse'.repeat(9),
  ])('rejects an operator token that no header can carry: %j', (token) => {
    const faults = faultsOf({ TRAILGATE_ADMIN_TOKEN: token });
    expect(faults).toEqual([expect.stringContaining('no Bearer token may have')]);
    expect(faults.join()).not.toContain(token);
  });

  it('does not repeat a token or the password of a URL', () => {
    const faults = faultsOf({ DATABASE_URL: 'mysql://user:hunter2@db', TRAILGATE_ADMIN_TOKEN: 'tiny-secret' });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toMatch(/hunter2|tiny-secret/);
  });
});

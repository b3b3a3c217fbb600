import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.js';

describe('the environment', () => {
  it('may be empty', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 4001,
      dataDir: './data/customers',
      seedAccounts: [],
      logLevel: 'info',
    });
  });

  it('treats an empty variable as not set', () => {
    expect(readConfig({ CUSTOMERS_DATA_DIR: '', TRAILGATE_CUSTOMERS_PORT: '' })).toEqual(readConfig({}));
  });

  it('reads every variable', () => {
    const environment = {
      TRAILGATE_CUSTOMERS_HOST: '0.0.0.0',
      TRAILGATE_CUSTOMERS_PORT: '0',
      CUSTOMERS_DATA_DIR: '/var/lib/customers',
      CUSTOMERS_SEED_ACCOUNTS: 'acc_a, acc_b,,acc_a',
      CUSTOMERS_EVENTS_URL: 'http://127.0.0.1:8081/internal/v1/events',
      CUSTOMERS_EVENTS_TOKEN: 'secret',
      LOG_LEVEL: 'debug',
    };
    expect(readConfig(environment)).toEqual({
      host: '0.0.0.0',
      port: 0,
      dataDir: '/var/lib/customers',
      seedAccounts: ['acc_a', 'acc_b'],
      logLevel: 'debug',
      events: { url: 'http://127.0.0.1:8081/internal/v1/events', token: 'secret' },
    });
  });

  it('enables events only with a token', () => {
    expect(readConfig({ CUSTOMERS_EVENTS_URL: 'http://127.0.0.1:8081/internal/v1/events' })).toEqual(readConfig({}));
  });

  it('names every variable that is wrong', () => {
    const environment = { TRAILGATE_CUSTOMERS_PORT: '70000', LOG_LEVEL: 'loud' };
    expect(() => readConfig(environment)).toThrow(
      'TRAILGATE_CUSTOMERS_PORT must be a port number from 0 to 65535; ' +
        'LOG_LEVEL must be one of trace, debug, info, warn, error, silent',
    );
  });
});

/** The summary that is logged at start. */
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, configOf } from '../../test/support/config-files.js';
import { configSummary } from './summary.js';

describe('configSummary', () => {
  it('names the stores and listeners without secrets', async () => {
    const config = await configOf(
      { 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI },
      {
        DATABASE_URL: 'postgres://app:hunter2@db:5432/trailgate?sslpassword=hunter3',
        REDIS_URL: 'redis://:hunter4@cache:6379/1',
        TRAILGATE_ADMIN_TOKEN: 'hunter5-'.repeat(4),
      },
    );
    const summary = configSummary(config);
    expect(summary).toMatchObject({
      database: 'postgres://app:***@db:5432/trailgate?sslpassword=***',
      counters: 'redis://:***@cache:6379/1',
      admin: { host: '127.0.0.1', port: 8081, token: true },
      operations: 3,
      plans: ['starter'],
    });
    expect(JSON.stringify(summary)).not.toContain('hunter');
  });
});

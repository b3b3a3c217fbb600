/** The program refuses a configuration that removes a plan in use. The error has the number of accounts and a fix. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnPostgres, describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';

type Plans = Record<string, object | undefined>;

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterAll(() => backend.stop());

const linesOf = ({ logs }: RunningTrailgate, event: string) => logs().filter((line) => line['event'] === event);

const outcomes = (trailgate: RunningTrailgate) =>
  trailgate.logs().filter(({ event }) => event === 'config_changed' || event === 'config_refused');

/** Makes a change. @returns the next log line about an accepted or refused configuration. */
async function nextOutcome(
  trailgate: RunningTrailgate,
  change: () => void,
): Promise<Record<string, unknown> | undefined> {
  const before = outcomes(trailgate).length;
  change();
  await eventually('the configuration is accepted or refused', () => outcomes(trailgate).length > before);
  return outcomes(trailgate)[before];
}

/** Replaces the configuration file atomically. The program notices the change itself. */
function changePlans({ configPath }: RunningTrailgate, patch: Plans): void {
  const config = parse(readFileSync(configPath, 'utf8')) as { plans: Plans };
  Object.assign(config.plans, patch);
  writeFileSync(`${configPath}.next`, stringify(config));
  renameSync(`${configPath}.next`, configPath);
}

const change = (trailgate: RunningTrailgate, patch: Plans) =>
  nextOutcome(trailgate, () => changePlans(trailgate, patch));

const statusOf = (trailgate: RunningTrailgate, secret: string): Promise<number> =>
  send(`${trailgate.gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${secret}` } }).then(
    ({ status }) => status,
  );

describe('a plan that a changed configuration removes', () => {
  let trailgate: RunningTrailgate;
  let accounts: string[];
  beforeAll(async () => {
    trailgate = await startTrailgate({ backend: backend.url });
  });
  afterAll(() => trailgate.stop());

  it('stays active while accounts use it, and the refusal names the plan, their number and the fix', async () => {
    const { account, key } = await trailgate.admin.newKey('pro');
    accounts = [account.id, (await trailgate.admin.newKey('pro')).account.id];
    expect(await change(trailgate, { pro: undefined, gold: {} })).toMatchObject({
      event: 'config_refused',
      problems: `${trailgate.configPath}: plans.pro: was removed, but 2 accounts use it\n  → leave it in until they have another: trailgate accounts update <account> --plan <plan>`,
    });
    expect(await statusOf(trailgate, key.secret)).toBe(200);
    await expect(trailgate.admin.updateAccount(account.id, { plan: 'gold' })).rejects.toThrow(/not a plan/);
    expect(linesOf(trailgate, 'unknown_plans')).toEqual([]);
    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/trailgate_config_reloads_total\{result="refused"\} [1-9]/);
  });

  it('is removed once no account uses it', async () => {
    for (const id of accounts) await trailgate.admin.updateAccount(id, { plan: 'starter' });
    expect(await nextOutcome(trailgate, () => trailgate.signal('SIGHUP'))).toMatchObject({
      event: 'config_changed',
      plans: ['starter', 'unlimited', 'gold'],
    });
  });
});

describeWithOwnPostgres('while the database hangs', () => {
  let postgres: PostgresServer;
  let trailgate: RunningTrailgate;
  beforeAll(async () => {
    postgres = await startPostgres();
    trailgate = await startTrailgate({ backend: backend.url, env: { DATABASE_URL: postgres.url } });
  });
  afterAll(async () => {
    postgres.resume();
    await trailgate.stop();
    await postgres.stop();
  });

  it('a plan cannot be removed until the database is back, but other changes apply', async () => {
    postgres.pause();
    expect(await change(trailgate, { gold: {} })).toMatchObject({ event: 'config_changed' });
    expect(await change(trailgate, { pro: undefined })).toMatchObject({
      event: 'config_refused',
      problems: expect.stringMatching(
        /gateway\.yaml: plans\.pro: was removed, and the database does not say whether accounts use it: .+\n {2}→ send SIGHUP when the database is available/,
      ),
    });
    postgres.resume();
    await eventually('the database is back and the plan is removed', async () => {
      const outcome = await nextOutcome(trailgate, () => trailgate.signal('SIGHUP'));
      return outcome?.['event'] === 'config_changed';
    });
  });
});

describeWithRedis('with several workers', () => {
  it('the workers and their parent refuse to remove a plan in use, and keep serving it', async () => {
    const trailgate = await startTrailgate({
      backend: backend.url,
      args: ['--workers', '2'],
      env: { REDIS_URL: await sharedRedisUrl() },
    });
    try {
      const { key } = await trailgate.admin.newKey('pro');
      await change(trailgate, { pro: undefined });
      await eventually(
        'all three processes refuse the configuration',
        () => linesOf(trailgate, 'config_refused').length >= 3,
      );
      const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(trailgate, key.secret)));
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(linesOf(trailgate, 'config_changed')).toEqual([]);
    } finally {
      await trailgate.stop();
    }
  });
});

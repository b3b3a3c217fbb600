/** Unfinished sign-ins. Each step works once, expires, and allows five attempts in total. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { SignInSteps } from '../../src/members/sign-in/sign-in-steps.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';

const MINUTE_MS = 60_000;
const CHALLENGE = { challenge: 'c', purpose: 'sign_in' } as const;

describeOnDatabases('a sign-in step', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let steps: SignInSteps;

  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    steps = new SignInSteps(database.db, clock);
  });
  afterEach(async () => await database.close());

  const rows = async () => await database.db.selectFrom('sign_in_step').selectAll().execute();
  const ended = { code: 'sign_in_ended', status: 401 };

  it('is consumed once by eight concurrent calls, and then deleted', async () => {
    const { token } = await steps.createStep('passkey', 'mem_1', CHALLENGE);
    const taken = await Promise.allSettled(Array.from({ length: 8 }, () => steps.consumeStep(token, 'passkey')));
    const [value, ...more] = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(value).toMatchObject({ memberId: 'mem_1', data: CHALLENGE });
    expect(more).toEqual([]);
    expect(await rows()).toEqual([]);
  });

  it('allows five attempts, even when twenty come at once on two nodes', async () => {
    const { token } = await steps.createStep('second_factor', 'mem_1', { method: 'password' });
    const other = new SignInSteps(database.db, clock);
    const tries = Array.from({ length: 20 }, (_, at) => (at % 2 ? steps : other).countAttempt(token, 'second_factor'));
    const done = await Promise.allSettled(tries);
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    await expect(steps.countAttempt(token, 'second_factor')).rejects.toMatchObject(ended);
  });

  it.each([
    ['second_factor', 5],
    ['passkey', 5],
    ['oidc', 10],
  ] as const)('of the kind %s expires after %i minutes, to the millisecond', async (step, minutes) => {
    const data = { challenge: 'c', purpose: 'sign_in' } as never;
    const [first, second] = [await steps.createStep(step, null, data), await steps.createStep(step, null, data)];
    clock.advance(minutes * MINUTE_MS - 1);
    expect(await steps.countAttempt(first.token, step)).toMatchObject({ expiresAt: first.expiresAt });
    expect(await steps.consumeStep(first.token, step)).toMatchObject({ memberId: null });
    clock.advance(1);
    await expect(steps.countAttempt(second.token, step)).rejects.toMatchObject(ended);
    await expect(steps.consumeStep(second.token, step)).rejects.toMatchObject(ended);
  });

  it('cannot be used as a step of another kind', async () => {
    const { token } = await steps.createStep('passkey', 'mem_1', CHALLENGE);
    await expect(steps.countAttempt(token, 'second_factor')).rejects.toMatchObject(ended);
    await expect(steps.consumeStep(token, 'oidc')).rejects.toMatchObject(ended);
    expect(await steps.consumeStep(token, 'passkey')).toMatchObject({ memberId: 'mem_1' });
  });

  it.each([undefined, '', 'x', 'a'.repeat(43), `${'a'.repeat(42)}é`])('cannot be used with token %j', async (token) => {
    await steps.createStep('passkey', 'mem_1', CHALLENGE);
    await expect(steps.countAttempt(token, 'passkey')).rejects.toMatchObject(ended);
    await expect(steps.consumeStep(token, 'passkey')).rejects.toMatchObject(ended);
  });

  it('is stored as a hash, and abandoned steps are deleted when others begin', async () => {
    const tokens = [];
    for (let step = 0; step < 30; step++) tokens.push((await steps.createStep('passkey', null, CHALLENGE)).token);
    const kept = JSON.stringify(await rows());
    expect(tokens.filter((token) => kept.includes(token))).toEqual([]);
    clock.advance(6 * MINUTE_MS);
    await steps.createStep('passkey', null, CHALLENGE);
    expect(await rows()).toHaveLength(11);
    await steps.createStep('passkey', null, CHALLENGE);
    expect(await rows()).toHaveLength(2);
    expect(await steps.deleteEnded(1_000)).toBe(0);
  });
});

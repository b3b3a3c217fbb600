/**
 * A gateway is killed while it carries out a request with an Idempotency-Key. Nothing is done twice, whatever the
 * moment. A retry at another node, or at the same one after its return, gets the known result.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { expectProblem } from '../support/problem.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { describeOnStores } from '../support/worlds.js';

/** How long a claim stands without a word from its gateway. */
const LEASE_MS = 15_000;
const ROUNDS = 12;

describeOnStores('a request whose gateway is killed', (kind) => {
  let world: KeyedWorld<RunningTrailgate>;
  beforeAll(async () => {
    world = await startKeyedWorld(kind, { own: true });
  });
  afterAll(() => world?.stop());

  /** Starts a gateway again that was killed. */
  async function revive(at: number): Promise<void> {
    const { dataDir } = world.gateways[0]!;
    const roles = at === 0 ? {} : { roles: ['gateway'] as const };
    world.gateways[at] = await startTrailgate({ ...world.options, ...roles, dataDir });
  }

  it(`before its response came, or at any of ${ROUNDS} moments, is carried out at most once, and told again where it had its response`, async () => {
    const lostKey = randomUUID();
    world.says = (request, response, recorded) => {
      if (request.headers['idempotency-key'] === lostKey) return;
      setTimeout(() => void makesCustomer(request, response, recorded), 10);
    };
    const lost = world.post(lostKey).catch(() => 'lost');
    await eventually('the backend has it', () => world.carriedOut(lostKey) === 1);
    const keys = Array.from({ length: ROUNDS }, () => randomUUID());
    // From before the claim to behind the response.
    const sent = keys.map(async (key, at) => {
      await sleep(at * 4);
      return world.post(key).catch(() => undefined);
    });
    await sleep(24);
    const killedMs = performance.now();
    await world.gateways[0]!.kill9();
    const answers = await Promise.all(sent);
    expect(await lost).toBe('lost');
    world.says = makesCustomer;
    // The node that is asked when the first one is dead: the other one, or the same one again.
    const at = kind === 'SQLite' ? 0 : 1;
    if (kind === 'SQLite') await revive(0);

    const wrong: unknown[] = [];
    for (const [index, key] of keys.entries()) {
      const [before, answer] = [world.carriedOut(key), answers[index]];
      const retried = await world.post(key, { at });
      const [after, isDone] = [world.carriedOut(key), retried.status === 201];
      const isUnderWay = retried.text.includes('"idempotency_in_progress"');
      // Whoever had the response hears it again. Else it is carried out now, or was with its response lost on the way to
      // the client, or it is under way as far as anybody knows.
      const isRight =
        answer === undefined
          ? (isDone && after === 1) || (isUnderWay && after === before)
          : isDone && retried.text === answer.text;
      if (!isRight || after > 1) wrong.push({ index, before, after, answer: answer?.text, retried: retried.text });
    }
    expect(wrong).toEqual([]);

    const retried = await world.post(lostKey, { at });
    const isSoon = performance.now() - killedMs < LEASE_MS - 6_000;
    expect(retried.text).toMatch(
      isSoon ? /"idempotency_in_progress"/ : /"idempotency_(?:in_progress|outcome_unknown)"/,
    );
    // What a lease is to each store stands in the contract.
    if (kind === 'SQLite') {
      const database = new DatabaseSync(join(world.gateways[0]!.dataDir, 'trailgate.db'), { timeout: 30_000 });
      database.exec(`update idempotent_request set leased_until = leased_until - ${LEASE_MS}`);
      database.close();
      expectProblem(await world.post(lostKey, { at }), 'idempotency_outcome_unknown');
    }
    expect(world.carriedOut(lostKey)).toBe(1);
    // Another key does what was asked for.
    expect((await world.post(randomUUID(), { at })).status).toBe(201);
    if (kind !== 'SQLite') await revive(0);
  });

  it('that comes ten times at once, and ten times again, makes one customer, is charged once, and is told to all', async () => {
    const { account, key: apiKey } = await world.gateways[0]!.admin.newKey('pro');
    const key = randomUUID();
    const post = (at: number) => world.post(key, { at, secret: apiKey.secret });
    let isReleased = false;
    world.says = (request, response, recorded) =>
      void eventually('it may be done', () => isReleased).then(() => makesCustomer(request, response, recorded));
    const first = post(0);
    await eventually('the backend has it', () => world.carriedOut(key) === 1);
    const others = Array.from({ length: 9 }, (_, at) => post(at + 1).catch(() => undefined));
    // In between: the node that others have asked, or, where there is one only, that one, once all is written down.
    if (kind !== 'SQLite') {
      await Promise.race(others);
      await world.gateways[1]!.kill9();
    }
    isReleased = true;
    const made = await first;
    expect(made.status).toBe(201);
    for (const answer of await Promise.all(others)) {
      if (answer !== undefined && answer.status !== 201) expectProblem(answer, 'idempotency_in_progress');
    }
    await eventually('it is charged', async () => (await world.charged(account.id)) === 1);
    const killed = kind === 'SQLite' ? 0 : 1;
    if (killed === 0) await world.gateways[0]!.kill9();
    await revive(killed);
    const again = await Promise.all(Array.from({ length: 10 }, (_, at) => post(at)));
    expect(new Set(again.map(({ text }) => text))).toEqual(new Set([made.text]));
    expect(again.map(({ headers }) => headers['idempotent-replayed'])).toEqual(again.map(() => 'true'));
    expect(world.carriedOut(key)).toBe(1);
    expect(await world.charged(account.id)).toBe(1);
  });
});

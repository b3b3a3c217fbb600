/**
 * A gateway is killed while it carries out a request with an Idempotency-Key. The request is never carried out twice,
 * whenever the kill comes. A retry at another node, or at the restarted one, gets the stored response.
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

/** Lease of a claim, in milliseconds. It ends this long after the last sign of life of its gateway. */
const LEASE_MS = 15_000;
const ROUNDS = 12;

describeOnStores('a request whose gateway is killed', (kind) => {
  let world: KeyedWorld<RunningTrailgate>;
  beforeAll(async () => {
    world = await startKeyedWorld(kind, { own: true });
  });
  afterAll(() => world?.stop());

  /** Restarts a killed gateway on its data folder. */
  async function revive(at: number): Promise<void> {
    const { dataDir } = world.gateways[0]!;
    const roles = at === 0 ? {} : { roles: ['gateway'] as const };
    world.gateways[at] = await startTrailgate({ ...world.options, ...roles, dataDir });
  }

  it(`at any of ${ROUNDS} moments is carried out at most once, and replayed if its client had a response`, async () => {
    const lostKey = randomUUID();
    world.says = (request, response, recorded) => {
      if (request.headers['idempotency-key'] === lostKey) return;
      setTimeout(() => void makesCustomer(request, response, recorded), 10);
    };
    const lost = world.post(lostKey).catch(() => 'lost');
    await eventually('the backend gets the request', () => world.carriedOut(lostKey) === 1);
    const keys = Array.from({ length: ROUNDS }, () => randomUUID());
    // The kill hits requests in every phase, from before the claim to after the response.
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
    // Retries go to the other node. With a single node, they go to the same node after a restart.
    const at = kind === 'SQLite' ? 0 : 1;
    if (kind === 'SQLite') await revive(0);

    const wrong: unknown[] = [];
    for (const [index, key] of keys.entries()) {
      const [before, answer] = [world.carriedOut(key), answers[index]];
      const retried = await world.post(key, { at });
      const [after, isDone] = [world.carriedOut(key), retried.status === 201];
      const isUnderWay = retried.text.includes('"idempotency_in_progress"');
      // A client that had a response gets the same one. Otherwise the retry is carried out, gets a replay of the lost
      // response, or is told that the request is in progress.
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
    // For other stores, their contract tests cover leases.
    if (kind === 'SQLite') {
      const database = new DatabaseSync(join(world.gateways[0]!.dataDir, 'trailgate.db'), { timeout: 30_000 });
      database.exec(`update idempotent_request set leased_until = leased_until - ${LEASE_MS}`);
      database.close();
      expectProblem(await world.post(lostKey, { at }), 'idempotency_outcome_unknown');
    }
    expect(world.carriedOut(lostKey)).toBe(1);
    // A request with a new key is carried out.
    expect((await world.post(randomUUID(), { at })).status).toBe(201);
    if (kind !== 'SQLite') await revive(0);
  });

  it('that is sent ten times, and ten times after the restart, is carried out and charged once', async () => {
    const { account, key: apiKey } = await world.gateways[0]!.admin.newKey('pro');
    const key = randomUUID();
    const post = (at: number) => world.post(key, { at, secret: apiKey.secret });
    let isReleased = false;
    world.says = (request, response, recorded) =>
      void eventually('the test releases the response', () => isReleased).then(() =>
        makesCustomer(request, response, recorded),
      );
    const first = post(0);
    await eventually('the backend gets the request', () => world.carriedOut(key) === 1);
    const others = Array.from({ length: 9 }, (_, at) => post(at + 1).catch(() => undefined));
    // Kills the node that serves the other requests. A single node is killed later, after everything is stored.
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
    await eventually('the request is charged', async () => (await world.charged(account.id)) === 1);
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

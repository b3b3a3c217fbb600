/**
 * A gateway is killed while it carries out a request with an Idempotency-Key: at whatever moment, nothing is done a second time, and a
 * retry at another node, or at the same one when it is back, says what is known.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import { describeOnStores, makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { expectProblem } from '../support/problem.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** The lease, and time to notice. */
const LEASE_MS = 15_000;
const ROUNDS = 12;

describeOnStores('a request whose gateway is killed', (kind) => {
  let world: KeyedWorld;
  let other: RunningTrailgate | undefined;
  afterEach(async () => {
    await other?.stop();
    await world.stop();
  });

  /** The node that is asked when the first one is dead: the other one, or the same one again. */
  async function successor(): Promise<number> {
    if (kind !== 'SQLite') return 1;
    const { dataDir } = world.gateways[0]!;
    other = await startTrailgate({ ...world.options, dataDir });
    world.gateways[0] = other;
    return 0;
  }

  it('before its response came is never carried out again: it is under way, and then nobody knows', async () => {
    world = await startKeyedWorld(kind);
    const key = randomUUID();
    world.says = () => undefined;
    const lost = world.post(key).catch(() => 'lost');
    await eventually('the backend has it', () => world.carriedOut(key) === 1);
    const killedMs = performance.now();
    await world.gateways[0]!.kill9();
    expect(await lost).toBe('lost');
    world.says = makesCustomer;
    const at = await successor();
    const retried = await world.post(key, { at });
    const isSoon = performance.now() - killedMs < LEASE_MS - 6_000;
    expect(retried.text).toMatch(
      isSoon ? /"idempotency_in_progress"/ : /"idempotency_(?:in_progress|outcome_unknown)"/,
    );
    const isUnknown = async (): Promise<boolean> => {
      // The key may send 600 requests a minute: it asks more rarely than `eventually` would.
      await sleep(100);
      return (await world.post(key, { at })).text.includes('idempotency_outcome_unknown');
    };
    await eventually('nobody knows', isUnknown, LEASE_MS + 10_000);
    expect(performance.now() - killedMs).toBeGreaterThan(LEASE_MS - 6_000);
    expect(world.carriedOut(key)).toBe(1);
    // Another key does what was asked for.
    expect((await world.post(randomUUID(), { at })).status).toBe(201);
  }, 90_000);

  it(`at any of ${ROUNDS} moments is carried out at most once, and told again where it had its response`, async () => {
    world = await startKeyedWorld(kind);
    world.says = (request, response, recorded) =>
      void setTimeout(() => void makesCustomer(request, response, recorded), 10);
    const keys = Array.from({ length: ROUNDS }, () => randomUUID());
    // From before the claim to behind the response.
    const sent = keys.map(async (key, at) => {
      await sleep(at * 4);
      return world.post(key).catch(() => undefined);
    });
    await sleep(24);
    await world.gateways[0]!.kill9();
    const answers = await Promise.all(sent);
    const at = await successor();
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
  }, 60_000);

  it('that comes ten times at once, and ten times again, makes one customer, is charged once, and is told to all', async () => {
    world = await startKeyedWorld(kind);
    const key = randomUUID();
    let isReleased = false;
    world.says = (request, response, recorded) =>
      void eventually('it may be done', () => isReleased).then(() => makesCustomer(request, response, recorded));
    const first = world.post(key);
    await eventually('the backend has it', () => world.carriedOut(key) === 1);
    const others = Array.from({ length: 9 }, (_, at) => world.post(key, { at: at + 1 }).catch(() => undefined));
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
    await eventually('it is charged', async () => (await world.charged()) === 1);
    if (kind === 'SQLite') {
      await world.gateways[0]!.kill9();
      await successor();
    } else {
      const { dataDir } = world.gateways[0]!;
      world.gateways[1] = await startTrailgate({ ...world.options, roles: ['gateway'], dataDir });
    }
    const again = await Promise.all(Array.from({ length: 10 }, (_, at) => world.post(key, { at })));
    expect(new Set(again.map(({ text }) => text))).toEqual(new Set([made.text]));
    expect(again.map(({ headers }) => headers['idempotent-replayed'])).toEqual(again.map(() => 'true'));
    expect(world.carriedOut(key)).toBe(1);
    expect(await world.charged()).toBe(1);
  }, 90_000);
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseHealth } from './database-health.js';

const UP = { kind: 'up' };
const PROBE_DEADLINE_MS = 200;

describe('the state of the database', () => {
  let ping: () => Promise<void>;
  let checkWrites: () => Promise<void>;
  let writes: number;
  let logged: { event: string; cause?: string }[];
  let nowMs: number;
  let health: DatabaseHealth;

  beforeEach(async () => {
    ping = async () => {};
    checkWrites = async () => {};
    writes = 0;
    logged = [];
    nowMs = 1_000;
    const record = (fields: object): void => void logged.push(fields as { event: string });
    health = new DatabaseHealth(
      {
        ping: () => ping(),
        checkWrites: () => {
          writes += 1;
          return checkWrites();
        },
      },
      { now: () => nowMs },
      { error: record, warn: record },
      PROBE_DEADLINE_MS,
    );
    health.start();
    await health.probe();
  });
  afterEach(() => health.stop());

  const refuse = async (): Promise<never> => {
    throw new Error('disk is full');
  };

  it('is probed with a write only if there was no other write for a while', async () => {
    await new Promise((done) => setImmediate(done));
    expect([health.state, writes]).toEqual([UP, 1]);
    await health.probe();
    expect(writes).toBe(1);
  });

  it('is unwritable after a failed write until another one succeeds, whatever the probe says', async () => {
    health.recordWriteFailure(new Error('disk is full'));
    nowMs = 2_000;
    await health.probe();
    health.recordWriteFailure(new Error('disk is still full'));
    expect(health.state).toEqual({ kind: 'unwritable', sinceMs: 1_000, cause: 'disk is still full' });
    health.recordWrite();
    expect(health.state).toEqual(UP);
    expect(logged.map(({ event }) => event)).toEqual(['database_unwritable', 'database_back']);
  });

  it('is unreachable rather than unwritable, and a write is probed as soon as it is reachable', async () => {
    ping = refuse;
    checkWrites = refuse;
    await health.probe();
    health.recordWriteFailure(new Error('connection lost'));
    expect(health.state).toEqual({ kind: 'unreachable', sinceMs: 1_000, cause: 'disk is full' });
    ping = async () => {};
    await health.probe();
    expect(health.state).toMatchObject({ kind: 'unwritable', cause: 'disk is full' });
    checkWrites = async () => {};
    await health.probe();
    expect(health.state).toEqual(UP);
    expect(logged.map(({ event }) => event)).toEqual(['database_lost', 'database_unwritable', 'database_back']);
  });

  it('is unreachable after the probe deadline, even if the call has not ended', async () => {
    let end: () => void = () => {};
    ping = () => new Promise((resolve) => (end = resolve));
    const probing = health.probe();
    while (health.state.kind === 'up') await new Promise((done) => setTimeout(done, 5));
    expect(health.state).toMatchObject({ kind: 'unreachable', cause: 'no response within 200 ms' });
    end();
    await probing;
    expect(health.state).toEqual(UP);
  });
});

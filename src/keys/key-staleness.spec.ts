/** Maximum age of a revoked key in the metric. It is never less than what the cache allows. */
import { describe, expect, it } from '@jest/globals';
import type { Heard, InvalidationBus } from './api-key.js';
import { FRESH_WITHOUT_BUS_MS, KeyStaleness, LONGEST_STALE_MS } from './key-staleness.js';
import { ProcessBus } from './process-bus.js';

const START_MS = 1_800_000_000_000;

/** Bus controlled by the test. */
class Bus implements InvalidationBus {
  since: number | null = null;
  untilMs = -Infinity;
  gapFromMs: number | null = -Infinity;

  async publish(): Promise<void> {}
  subscribe(): void {}
  connectedSince(): number | null {
    return this.since;
  }
  lastReceived(): Heard {
    return { untilMs: this.untilMs, gapFromMs: this.gapFromMs };
  }
  answered(nowMs: number): void {
    this.since ??= nowMs;
    this.untilMs = nowMs;
  }
  lost(): void {
    this.since = null;
    this.gapFromMs = this.untilMs;
  }
}

function setUp() {
  const clock = { nowMs: START_MS, now: () => clock.nowMs };
  const bus = new Bus();
  const staleness = new KeyStaleness(bus, clock);
  /** Lets seconds pass, with or without successful pings. */
  const pass = (seconds: number, isHeard: boolean): void => {
    for (let second = 0; second < seconds; second++) {
      clock.nowMs += 1_000;
      if (isHeard) bus.answered(clock.nowMs);
    }
  };
  return { clock, bus, staleness, pass };
}

describe('the age of a revoked key', () => {
  it('is zero if all changes are made in this process', () => {
    const clock = { now: () => START_MS };
    expect(new KeyStaleness(new ProcessBus(true), clock).mostMs).toBe(0);
  });

  it('is ten seconds if changes by other processes are not received', () => {
    const clock = { nowMs: START_MS, now: () => clock.nowMs };
    const staleness = new KeyStaleness(new ProcessBus(false), clock);
    clock.nowMs += 60_000;
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
  });

  it('is the time since the last ping while the bus is up', () => {
    const { clock, staleness, pass } = setUp();
    pass(30, true);
    expect(staleness.mostMs).toBe(0);
    clock.nowMs += 1_700;
    expect(staleness.mostMs).toBe(1_700);
  });

  it('grows to ten seconds at most while the bus is down and the database is available', () => {
    const { bus, staleness, pass } = setUp();
    pass(30, true);
    pass(2, false);
    bus.lost();
    expect(staleness.mostMs).toBe(2_000);
    pass(60, false);
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
  });

  it('stays at ten seconds until records from before the gap have expired', () => {
    const { bus, staleness, pass } = setUp();
    pass(30, true);
    bus.lost();
    pass(60, false);
    pass(1, true);
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
    pass(9, true);
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
    pass(1, true);
    expect(staleness.mostMs).toBe(0);
  });

  it('grows to an hour while bus and database are unavailable', () => {
    const { bus, staleness, pass } = setUp();
    pass(30, true);
    bus.lost();
    staleness.isDatabaseUnavailable = true;
    pass(600, false);
    expect(staleness.mostMs).toBe(600_000);
    pass(4_000, false);
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    // The bus is back, but missed changes cannot be read, so cached keys are as old as before.
    pass(60, true);
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    staleness.isDatabaseUnavailable = false;
    expect(staleness.mostMs).toBe(0);
  });

  it('is the time since the last ping while only the database is unavailable', () => {
    const { staleness, pass } = setUp();
    pass(LONGEST_STALE_MS / 1_000, true);
    staleness.isDatabaseUnavailable = true;
    // Keys that were not read again may have missed changes in the second before the bus first answered.
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    pass(1, true);
    expect(staleness.mostMs).toBe(0);
  });
});

/** How long a revoked key may be let in, as the metric says it: never less than what the cache does. */
import { describe, expect, it } from '@jest/globals';
import type { Heard, InvalidationBus } from './api-key.js';
import { FRESH_WITHOUT_BUS_MS, KeyStaleness, LONGEST_STALE_MS } from './key-staleness.js';
import { ProcessBus } from './process-bus.js';

const START_MS = 1_800_000_000_000;

/** A bus whose pings are answered, and missed, as the test says. */
class Bus implements InvalidationBus {
  since: number | null = null;
  untilMs = -Infinity;
  gapFromMs: number | null = -Infinity;

  async publish(): Promise<void> {}
  subscribe(): void {}
  connectedSince(): number | null {
    return this.since;
  }
  heard(): Heard {
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
  /** Seconds pass, pings answered or not. */
  const pass = (seconds: number, isHeard: boolean): void => {
    for (let second = 0; second < seconds; second++) {
      clock.nowMs += 1_000;
      if (isHeard) bus.answered(clock.nowMs);
    }
  };
  return { clock, bus, staleness, pass };
}

describe('the age of a revoked key', () => {
  it('is nothing where every change is made in this process', () => {
    const clock = { now: () => START_MS };
    expect(new KeyStaleness(new ProcessBus(true), clock).mostMs).toBe(0);
  });

  it('is ten seconds where changes of other processes are heard by nobody', () => {
    const clock = { nowMs: START_MS, now: () => clock.nowMs };
    const staleness = new KeyStaleness(new ProcessBus(false), clock);
    clock.nowMs += 60_000;
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
  });

  it('is the time since the last answer of the bus, while it answers', () => {
    const { clock, staleness, pass } = setUp();
    pass(30, true);
    expect(staleness.mostMs).toBe(0);
    clock.nowMs += 1_700;
    expect(staleness.mostMs).toBe(1_700);
  });

  it('grows to ten seconds when the bus is lost, and no further while the database is asked again', () => {
    const { bus, staleness, pass } = setUp();
    pass(30, true);
    pass(2, false);
    bus.lost();
    expect(staleness.mostMs).toBe(2_000);
    pass(60, false);
    expect(staleness.mostMs).toBe(FRESH_WITHOUT_BUS_MS);
  });

  it('stays at ten seconds until what was read in a gap is too old to be trusted', () => {
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

  it('grows to an hour while bus and database are away, as long as a known key goes on', () => {
    const { bus, staleness, pass } = setUp();
    pass(30, true);
    bus.lost();
    staleness.isDatabaseAway = true;
    pass(600, false);
    expect(staleness.mostMs).toBe(600_000);
    pass(4_000, false);
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    // Back, but what was missed cannot be read: what is in memory is as old as it was.
    pass(60, true);
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    staleness.isDatabaseAway = false;
    expect(staleness.mostMs).toBe(0);
  });

  it('is that of the bus while only the database is away: a change that is heard takes the key out', () => {
    const { staleness, pass } = setUp();
    pass(LONGEST_STALE_MS / 1_000, true);
    staleness.isDatabaseAway = true;
    // The second before the bus first answered may have been missed, by what has not been read again since.
    expect(staleness.mostMs).toBe(LONGEST_STALE_MS);
    pass(1, true);
    expect(staleness.mostMs).toBe(0);
  });
});

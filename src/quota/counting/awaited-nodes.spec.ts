import { beforeEach, describe, expect, it } from '@jest/globals';
import { AwaitedNodes } from './awaited-nodes.js';

describe('nodes that have to hand in', () => {
  let nowMs: number;
  let awaited: AwaitedNodes;
  beforeEach(() => {
    nowMs = 5_000;
    awaited = new AwaitedNodes(2, () => nowMs);
  });
  const after = (ms: number): number | undefined => {
    nowMs += ms;
    return awaited.endIfLate();
  };

  it('are waited for until the last of them has', () => {
    awaited.recordReport('one');
    awaited.recordReport('one');
    expect([after(1_999), awaited.isWaiting]).toEqual([undefined, true]);
    awaited.recordReport('two');
    expect([after(0), awaited.isWaiting]).toEqual([0, false]);
  });

  it('are waited for no longer than two seconds where nothing comes', () => {
    awaited.recordReport('one');
    expect([after(1_999), after(1), awaited.isWaiting]).toEqual([undefined, 1, false]);
  });

  it('are waited for as long as something comes, and until the first counters are grown', () => {
    for (let waitedMs = 0; waitedMs < 9_600; waitedMs += 400) {
      awaited.recordProgress();
      expect(after(400)).toBeUndefined();
    }
    awaited.recordProgress();
    expect([after(399), after(1), awaited.isWaiting]).toEqual([undefined, 2, false]);
  });

  it('are not waited for when nothing more comes', () => {
    expect(after(3_000 - 1_001)).toBeUndefined();
    awaited.recordProgress();
    expect([after(499), after(1)]).toEqual([undefined, 2]);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { AwaitedNodes } from './awaited-nodes.js';

describe('nodes that have to report their counts', () => {
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

  it('are awaited until the last has reported', () => {
    awaited.recordReport('one');
    awaited.recordReport('one');
    expect([after(1_999), awaited.isWaiting]).toEqual([undefined, true]);
    awaited.recordReport('two');
    expect([after(0), awaited.isWaiting]).toEqual([0, false]);
  });

  it('are awaited for at most two seconds without any progress', () => {
    awaited.recordReport('one');
    expect([after(1_999), after(1), awaited.isWaiting]).toEqual([undefined, 1, false]);
  });

  it('are awaited as long as there is progress, for up to ten seconds', () => {
    for (let waitedMs = 0; waitedMs < 9_600; waitedMs += 400) {
      awaited.recordProgress();
      expect(after(400)).toBeUndefined();
    }
    awaited.recordProgress();
    expect([after(399), after(1), awaited.isWaiting]).toEqual([undefined, 2, false]);
  });

  it('are no longer awaited half a second after the last progress', () => {
    expect(after(3_000 - 1_001)).toBeUndefined();
    awaited.recordProgress();
    expect([after(499), after(1)]).toEqual([undefined, 2]);
  });
});

import { beforeEach, describe, expect, it } from '@jest/globals';
import { StoreWatch } from './store-watch.js';

describe('the watch over Redis', () => {
  let isAnswering: boolean;
  let lost: unknown[];
  let isOver: boolean;
  let watch: StoreWatch;
  beforeEach(() => {
    isAnswering = true;
    lost = [];
    isOver = true;
    watch = new StoreWatch(
      {
        get isOver() {
          return isOver;
        },
        onCallEnd: (isAnswered, cause) => void (isAnswered || lost.push(cause)),
      },
      { probeIfDue: async () => {} },
      async () => {
        if (!isAnswering) throw new Error('no response');
      },
    );
  });

  it('reports a loss after three probes without response in a row', async () => {
    isAnswering = false;
    for (let round = 0; round < 3; round++) await watch.checkStore();
    expect(lost).toEqual([new Error('no response')]);
  });

  it('ignores up to two failed probes in a row', async () => {
    for (const isAnswered of [false, false, true, false, false, true]) {
      isAnswering = isAnswered;
      await watch.checkStore();
    }
    expect(lost).toEqual([]);
  });

  it('leaves a lost store to the breaker', async () => {
    isAnswering = false;
    isOver = false;
    for (let round = 0; round < 10; round++) await watch.checkStore();
    expect(lost).toEqual([]);
  });
});

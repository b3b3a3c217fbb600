import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { nowOrTold, Promised, tell, tellFailed, type Waiting } from './waiting.js';

class Told implements Waiting<string> {
  readonly told: unknown[] = [];
  fault: Error | undefined;

  answered(value: string): void {
    this.note(value);
  }

  failed(error: unknown): void {
    this.note(error);
  }

  private note(what: unknown): void {
    this.told.push(what);
    if (this.fault !== undefined) throw this.fault;
  }
}

describe('who waits', () => {
  it('has an answer at once that is there, and is told nothing', async () => {
    const waiting = new Told();
    expect(nowOrTold('there', waiting)).toBe('there');
    await Promise.resolve();
    expect(waiting.told).toEqual([]);
  });

  it('is told once of one that comes later, or of its failure', async () => {
    const [good, bad] = [new Told(), new Told()];
    const error = new Error('none');
    expect([nowOrTold(Promise.resolve('late'), good), nowOrTold(Promise.reject<string>(error), bad)]).toEqual([
      undefined,
      undefined,
    ]);
    expect([good.told, bad.told]).toEqual([[], []]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([good.told, bad.told]).toEqual([['late'], [error]]);
  });
});

describe('one of many that throws', () => {
  const later: (() => void)[] = [];
  beforeEach(() => {
    later.length = 0;
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void later.push(callback));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    ['its answer', (waiting: Told) => tell(waiting, 'answer'), 'answer'],
    ['its failure', (waiting: Told) => tellFailed(waiting, 'failure'), 'failure'],
  ])('when it is told %s does so in a turn of its own, and is told nothing else', (_what, act, told) => {
    const waiting = new Told();
    waiting.fault = new Error('a fault of its own');
    act(waiting);
    expect(waiting.told).toEqual([told]);
    expect(later).toHaveLength(1);
    expect(later[0]).toThrow(waiting.fault);
  });
});

describe('a promise for who would rather have one', () => {
  it('resolves to the answer', async () => {
    const promised = new Promised<string>();
    const { promise } = promised;
    expect(promised.promise).toBe(promise);
    promised.answered('answer');
    expect(await promise).toBe('answer');
  });

  it('rejects with the error', async () => {
    const promised = new Promised<string>();
    const { promise } = promised;
    promised.failed(new Error('none'));
    await expect(promise).rejects.toThrow('none');
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { valueOrLater, PromiseReceiver, deliverValue, deliverError, type ResultReceiver } from './callbacks.js';

class RecordingWaiter implements ResultReceiver<string> {
  readonly received: unknown[] = [];
  fault: Error | undefined;

  onResult(value: string): void {
    this.record(value);
  }

  onError(error: unknown): void {
    this.record(error);
  }

  private record(value: unknown): void {
    this.received.push(value);
    if (this.fault !== undefined) throw this.fault;
  }
}

describe('a waiter', () => {
  it('gets an available value as result, without a callback', async () => {
    const waiting = new RecordingWaiter();
    expect(valueOrLater('there', waiting)).toBe('there');
    await Promise.resolve();
    expect(waiting.received).toEqual([]);
  });

  it('gets a later value or error by one callback', async () => {
    const [good, bad] = [new RecordingWaiter(), new RecordingWaiter()];
    const error = new Error('none');
    expect([valueOrLater(Promise.resolve('late'), good), valueOrLater(Promise.reject<string>(error), bad)]).toEqual([
      undefined,
      undefined,
    ]);
    expect([good.received, bad.received]).toEqual([[], []]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([good.received, bad.received]).toEqual([['late'], [error]]);
  });
});

describe('one of several waiters that throws', () => {
  const later: (() => void)[] = [];
  beforeEach(() => {
    later.length = 0;
    jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((callback) => void later.push(callback));
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each([
    ['its value', (waiting: RecordingWaiter) => deliverValue(waiting, 'answer'), 'answer'],
    ['its error', (waiting: RecordingWaiter) => deliverError(waiting, 'failure'), 'failure'],
  ])('throws in a microtask when it gets %s, and gets no other callback', (_what, notify, received) => {
    const waiting = new RecordingWaiter();
    waiting.fault = new Error('a fault of its own');
    notify(waiting);
    expect(waiting.received).toEqual([received]);
    expect(later).toHaveLength(1);
    expect(later[0]).toThrow(waiting.fault);
  });
});

describe('a promise for a waiter', () => {
  it('resolves to the value', async () => {
    const promised = new PromiseReceiver<string>();
    const { promise } = promised;
    expect(promised.promise).toBe(promise);
    promised.onResult('answer');
    expect(await promise).toBe('answer');
  });

  it('rejects with the error', async () => {
    const promised = new PromiseReceiver<string>();
    const { promise } = promised;
    promised.onError(new Error('none'));
    await expect(promise).rejects.toThrow('none');
  });
});

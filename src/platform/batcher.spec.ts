/** Items share calls, and none is lost while the other side is unavailable. */
import { describe, expect, it } from '@jest/globals';
import { Batcher } from './batcher.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const twice = async (items: readonly number[]) => items.map((item) => item * 2);

class Away extends Error {}
const isAway = (error: unknown) => error instanceof Away;

describe('items', () => {
  it('of one turn of the event loop, or added during a call, share a call up to the limit', async () => {
    const batches: number[] = [];
    const batcher = new Batcher(
      async (items: readonly number[]) => {
        batches.push(items.length);
        await nextTurn();
        return twice(items);
      },
      { most: 4 },
    );
    const first = [batcher.add(1), batcher.add(2)];
    await nextTurn();
    const others = Array.from({ length: 10 }, (_, at) => batcher.add(at));
    expect(batcher.length).toBe(10);
    expect(await Promise.all(first)).toEqual([2, 4]);
    expect(await Promise.all(others)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(batches).toEqual([2, 4, 4, 2]);
  });

  it('share a call by their sizes, and one that is too large is sent alone', async () => {
    const batches: (readonly number[])[] = [];
    const batcher = new Batcher(
      async (items: readonly number[]) => {
        batches.push(items);
        return items;
      },
      { most: 10, sizeOf: (item: number) => item },
    );
    await Promise.all([4, 6, 1, 30, 2].map((item) => batcher.add(item)));
    expect(batches).toEqual([[4, 6], [1], [30], [2]]);
  });

  it('are all rejected if their call fails, and later ones are not', async () => {
    let fails = true;
    const batcher = new Batcher(
      (items: readonly number[]) => (fails ? Promise.reject(new Error('no')) : twice(items)),
      {
        most: 4,
      },
    );
    const both = [batcher.add(1), batcher.add(2)];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await batcher.add(3)).toBe(6);
  });

  it('wait while the other side is unavailable, and continue when it is back', async () => {
    let away = true;
    let tries = 0;
    const batcher = new Batcher(
      async (items: readonly number[]) => {
        tries += 1;
        if (away) throw new Away();
        return items;
      },
      { most: 4, isAway },
    );
    const both = [batcher.add(1), batcher.add(2)];
    while (!batcher.isStuck) await nextTurn();
    away = false;
    expect(await Promise.all(both)).toEqual([1, 2]);
    expect(batcher.isStuck).toBe(false);
    expect(tries).toBe(2);
  });

  it('succeed except for the one that is at fault', async () => {
    const batcher = new Batcher(
      async (items: readonly number[]) => {
        if (items.includes(2)) throw new Error('refused');
        return items;
      },
      { most: 4, isItemError: () => true },
    );
    expect(await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)))).toMatchObject([
      { value: 1 },
      { status: 'rejected', reason: { message: 'refused' } },
      { value: 3 },
    ]);
  });

  it('are rejected together if no item is at fault, and the call is not repeated', async () => {
    let calls = 0;
    const batcher = new Batcher(
      (_items: readonly number[]): Promise<readonly number[]> => {
        calls += 1;
        return Promise.reject(new Error('full'));
      },
      { most: 4, isItemError: () => false },
    );
    const both = await Promise.allSettled([batcher.add(1), batcher.add(2)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls).toBe(1);
  });

  it('of a call that ends after `stop` are rejected', async () => {
    const called = Promise.withResolvers<readonly number[]>();
    const batcher = new Batcher((_items: readonly number[]) => called.promise, { most: 4, isAway });
    const waiting = batcher.add(1);
    await nextTurn();
    await nextTurn();
    batcher.stop(new Error('the program ends'));
    called.reject(new Away());
    await expect(waiting).rejects.toThrow('the program ends');
  });

  it('that wait at `stop` are rejected with its reason, as are later ones', async () => {
    const batcher = new Batcher<number, number>(() => Promise.reject(new Away()), { most: 4, isAway });
    const waiting = batcher.add(1);
    await nextTurn();
    batcher.stop(new Error('the program ends'));
    await expect(waiting).rejects.toThrow('the program ends');
    await expect(batcher.add(2)).rejects.toThrow('the program ends');
  });
});

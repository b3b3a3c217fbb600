/** Results are written together, and none is lost or forgotten while the database is away. */
import { describe, expect, it } from '@jest/globals';
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import { ResultsWriter } from './results-writer.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('results', () => {
  it('that come while one transaction is under way share the next one, up to a bound', async () => {
    const batches: number[] = [];
    const writer = new ResultsWriter<number, number>(async (items) => {
      batches.push(items.length);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return items.map((item) => item * 2);
    }, 4);
    const first = writer.write(1);
    await turn();
    await turn();
    const others = Array.from({ length: 10 }, (_, at) => writer.write(at));
    expect(await first).toBe(2);
    expect(await Promise.all(others)).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
    expect(batches).toEqual([1, 4, 4, 2]);
  });

  it('wait while the database is away, are seen to be stuck, and are written when it is back', async () => {
    let isAway = true;
    const writer = new ResultsWriter<number, number>(async (items) => {
      if (isAway) throw new DatabaseUnavailable('away');
      return items;
    }, 4);
    const written = [writer.write(1), writer.write(2)];
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(writer.isStuck).toBe(true);
    isAway = false;
    expect(await Promise.all(written)).toEqual([1, 2]);
    expect(writer.isStuck).toBe(false);
  });

  it('of which the database refuses one are written without it', async () => {
    const writer = new ResultsWriter<number, number>(async (items) => {
      if (items.includes(2)) throw new Error('refused');
      return items;
    }, 4);
    expect(await Promise.allSettled([1, 2, 3].map((item) => writer.write(item)))).toMatchObject([
      { value: 1 },
      { status: 'rejected', reason: { message: 'refused' } },
      { value: 3 },
    ]);
  });

  it('that wait when the program ends are given up', async () => {
    const writer = new ResultsWriter<number, number>(() => Promise.reject(new DatabaseUnavailable('away')), 4);
    const waiting = writer.write(1);
    await turn();
    writer.stop();
    await expect(waiting).rejects.toThrow(DatabaseUnavailable);
    await expect(writer.write(2)).rejects.toThrow(DatabaseUnavailable);
  });
});

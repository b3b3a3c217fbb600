/** A shared read never returns a result from before the request. */
import { describe, expect, it } from '@jest/globals';
import { SharedRead } from './shared-read.js';

describe('a shared read', () => {
  function countingReads() {
    const finish: ((error?: Error) => void)[] = [];
    const shared = new SharedRead<number>();
    const read = (name = 'a'): Promise<number> =>
      shared.read(
        name,
        () =>
          new Promise((resolve, reject) => {
            const number = finish.length;
            finish.push((error) => (error === undefined ? resolve(number) : reject(error)));
          }),
      );
    return { finish, read };
  }

  it('is one further read for all callers during a running read', async () => {
    const { finish, read } = countingReads();
    const readings = [read(), read(), read()];
    finish[0]!();
    expect(await readings[0]).toBe(0);
    await Promise.resolve();
    expect(finish).toHaveLength(2);
    finish[1]!();
    expect(await Promise.all(readings)).toEqual([0, 1, 1]);
    const after = read();
    finish[2]!();
    expect(await after).toBe(2);
  });

  it('is separate for each name', () => {
    const { finish, read } = countingReads();
    void read('a');
    void read('b');
    expect(finish).toHaveLength(2);
  });

  it('that fails does not fail later callers', async () => {
    const { finish, read } = countingReads();
    const [first, second] = [read(), read()];
    finish[0]!(new Error('away'));
    await expect(first).rejects.toThrow('away');
    await Promise.resolve();
    finish[1]!();
    expect(await second).toBe(1);
  });
});

/** Whether foreign secrets are looked up: soon after an import, and never often while there are none. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Bus } from '../../test/support/key-cache.js';
import { ForeignKeys } from './foreign-keys.js';

describe('foreign secrets', () => {
  let nowMs: number;
  let bus: Bus;
  let exist: boolean;
  let isDown: boolean;
  let queries: number;
  let foreign: ForeignKeys;

  beforeEach(() => {
    [nowMs, exist, isDown, queries] = [1_000_000, false, false, 0];
    bus = new Bus();
    const hasForeignSecrets = async () => {
      queries += 1;
      if (isDown) throw new Error('the database is away');
      return exist;
    };
    foreign = new ForeignKeys({ hasForeignSecrets }, bus, { now: () => nowMs });
  });

  it('are queried at most once a second while there are none', async () => {
    expect(await Promise.all([foreign.mayExist(), foreign.mayExist()])).toEqual([false, false]);
    expect([foreign.mayExist(), queries]).toEqual([false, 1]);
    nowMs += 1_000;
    exist = true;
    expect([await foreign.mayExist(), foreign.mayExist(), queries]).toEqual([true, true, 2]);
  });

  it('are queried again after a message of the bus, even one that arrives during the query', async () => {
    const first = foreign.mayExist();
    exist = true;
    await bus.publish({ type: 'account', accountId: 'acc_1' });
    await first;
    expect(await foreign.mayExist()).toBe(true);
  });

  it('keep their last known state while the database is unavailable, and cause 503 if none is known', async () => {
    isDown = true;
    await expect(foreign.mayExist()).rejects.toMatchObject({ code: 'authentication_unavailable' });
    [isDown, exist] = [false, true];
    expect(await foreign.mayExist()).toBe(true);
    isDown = true;
    nowMs += 3_600_000;
    expect(await foreign.mayExist()).toBe(true);
  });
});

import { describe, expect, it } from '@jest/globals';
import { firstIdAt, newId } from './ids.js';

describe('ids', () => {
  it('have a prefix and 25 unambiguous characters', () => {
    expect(newId('key', 1_795_000_000_000)).toMatch(/^key_[0-9a-hjkmnp-tv-z]{25}$/);
  });

  it('are unique and sort in call order, even within a millisecond or if the clock goes back', () => {
    const now = 1_900_000_000_000;
    const ids = Array.from({ length: 3_000 }, (_, index) =>
      newId('aud', now + Math.floor(index / 1_000) - (index % 2)),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort()).toEqual(ids);
  });

  it('of a time are not below the bound of that time, also if the clock goes back', () => {
    const now = 1_950_000_000_000;
    for (const ms of [now, now + 1, now + 32 ** 3, now - 5_000]) {
      const id = newId('evt', ms);
      expect(id >= firstIdAt('evt', ms)).toBe(true);
      expect(id < firstIdAt('evt', now + 32 ** 3 + 1)).toBe(true);
    }
  });

  it.each([-1, 8.64e15])('have a bound for the time %d', (ms) => {
    expect(firstIdAt('evt', ms)).toMatch(/^evt_[0z]{9}$/);
  });
});

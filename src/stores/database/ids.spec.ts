import { describe, expect, it } from '@jest/globals';
import { newId } from './ids.js';

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
});

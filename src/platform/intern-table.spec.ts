import { expect, it } from '@jest/globals';
import { InternTable } from './intern-table.js';

it('returns one object per name', () => {
  const table = new InternTable<object>();
  const [one, other] = [table.keep('one', {}), table.keep('other', {})];
  expect(table.get('one')).toBe(one);
  expect(table.get('other')).toBe(other);
  expect(table.get('constructor')).toBeUndefined();
});

it('has a maximum size', () => {
  const table = new InternTable<number>();
  for (let index = 0; index <= 10_000; index++) table.keep(`n${index}`, index);
  expect([table.get('n0'), table.get('n9999'), table.get('n10000')]).toEqual([undefined, undefined, 10_000]);
});

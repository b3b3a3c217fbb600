import { describe, expect, it } from '@jest/globals';
import type { Operation } from '../config/model/schema.js';
import { missingScopes, ScopeSets } from './scopes.js';

function operation(index: number, ...scopes: string[]): Operation {
  return { index, id: `op${index}`, method: 'GET', template: '/x', service: 's', scopes, cost: 1 };
}

describe('scopes', () => {
  it.each([
    [['customers:read'], ['customers:read'], []],
    [['customers:*'], ['customers:read', 'customers:write'], []],
    [['*'], ['customers:read', 'tours:write'], []],
    [[], [], []],
    [[], ['customers:read'], ['customers:read']],
    [['customers:read'], ['customers:write'], ['customers:write']],
    [['customers:*'], ['tours:read'], ['tours:read']],
    [['tours:read'], ['tours:read', 'customers:read', 'files:read'], ['customers:read', 'files:read']],
  ])('granted %j, needed %j: missing are %j', (granted, needed, missing) => {
    expect(missingScopes(granted, needed)).toEqual(missing);
  });

  it.each([
    [['customers'], 'customers:read'],
    [['customers:'], 'customers:read'],
    [['customers:re'], 'customers:read'],
    [['customers:read2'], 'customers:read'],
    [['customer:*'], 'customers:read'],
    [['*:read'], 'customers:read'],
    [['customers:**'], 'customers:read'],
    [[':*'], 'customers:read'],
    [['Customers:Read'], 'customers:read'],
    [['customers:read'], 'customers:*'],
    [['customers:*'], '*'],
    [['customers:read,customers:write'], 'customers:write'],
    [['customers:read customers:write'], 'customers:write'],
  ])('only %j does not grant %s', (granted, needed) => {
    expect(missingScopes(granted, [needed])).toEqual([needed]);
  });
});

describe('a set of scopes', () => {
  it('returns the same result for repeated checks', () => {
    const set = new ScopeSets().getOrCreate(['customers:read']);
    const [read, write] = [operation(0, 'customers:read'), operation(7, 'customers:write')];
    for (let round = 0; round < 3; round++) {
      expect(set.allows(read)).toBe(true);
      expect(set.allows(write)).toBe(false);
    }
  });

  it('needs every scope of an operation', () => {
    const set = new ScopeSets().getOrCreate(['customers:read', 'tours:*']);
    expect(set.allows(operation(0, 'customers:read', 'tours:write'))).toBe(true);
    expect(set.allows(operation(1, 'customers:read', 'files:read'))).toBe(false);
  });

  it('is shared by keys with the same scopes in any order, and by no others', () => {
    const sets = new ScopeSets();
    expect(sets.getOrCreate(['b:read', 'a:read'])).toBe(sets.getOrCreate(['a:read', 'b:read']));
    expect(sets.getOrCreate(['a:read'])).not.toBe(sets.getOrCreate(['a:read', 'b:read']));
    expect(sets.getOrCreate(['b:read', 'a:read']).text).toBe('a:read b:read');
  });

  it('is correct after the bounded table was cleared', () => {
    const sets = new ScopeSets();
    const first = sets.getOrCreate(['a:read']);
    for (let index = 0; index < 10_001; index++) sets.getOrCreate([`r${index}:read`]);
    expect(sets.getOrCreate(['a:read'])).not.toBe(first);
    expect(sets.getOrCreate(['a:read']).allows(operation(0, 'a:read'))).toBe(true);
    expect(sets.getOrCreate(['a:read']).allows(operation(1, 'r1:read'))).toBe(false);
  });
});

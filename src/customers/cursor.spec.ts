import { describe, expect, it } from '@jest/globals';
import { CursorCodec, type CursorScope } from './cursor.js';
import { RequestError } from './errors.js';

const codec = new CursorCodec('a secret');
const position = { createdAt: 1_700_000_000_123, id: 'cus_00000000000000000001' };
const scope: CursorScope = ['acc_a', 'anna@example.com', undefined, 'active', 1, undefined, 'x'];

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return error instanceof RequestError ? error.code : String(error);
  }
  return 'accepted';
}

describe('a cursor', () => {
  it('decodes to the position it was made for', () => {
    expect(codec.decode(codec.encode(position, scope), scope)).toEqual(position);
  });

  it('is valid on every process with the same secret, and on no other', () => {
    const cursor = codec.encode(position, scope);
    expect(new CursorCodec('a secret').decode(cursor, scope)).toEqual(position);
    expect(codeOf(() => new CursorCodec('another').decode(cursor, scope))).toBe('invalid_cursor');
  });

  it.each(scope.map((_, index) => index))('is refused when part %i of its scope has changed', (index) => {
    const changed = scope.map((part, at) => (at === index ? 'changed' : part));
    expect(codeOf(() => codec.decode(codec.encode(position, scope), changed))).toBe('invalid_cursor');
  });

  it('is refused when a filter moved to another parameter', () => {
    const cursor = codec.encode(position, ['acc_a', 'x', undefined]);
    expect(codeOf(() => codec.decode(cursor, ['acc_a', undefined, 'x']))).toBe('invalid_cursor');
  });

  it('is refused with any one character changed', () => {
    const cursor = codec.encode(position, scope);
    for (let at = 0; at < cursor.length; at++) {
      const other = cursor[at] === 'A' ? 'B' : 'A';
      const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expect([at, codeOf(() => codec.decode(changed, scope))]).toEqual([at, 'invalid_cursor']);
    }
  });

  it.each([
    '',
    'x',
    '????',
    `${codec.encode(position, scope)}=`,
    ` ${codec.encode(position, scope)}`,
    'A'.repeat(5_000),
  ])('is refused if it is junk or has another spelling: %#', (cursor) => {
    expect(codeOf(() => codec.decode(cursor, scope))).toBe('invalid_cursor');
  });
});

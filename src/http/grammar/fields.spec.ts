/** Header fields in flat form, and field lines. */
import { describe, expect, it } from '@jest/globals';
import { cpuMsOf } from '../../../test/support/cpu-time.js';
import { areFieldLines, fieldsByName, fieldsOfLines, fieldValue, listMembers, listTokens } from './fields.js';

describe('the value of a field', () => {
  it('is found whatever its case, and repeated fields are joined', () => {
    expect(fieldValue(['Link', '<a>', 'X', 'y', 'LINK', '<b>', 'link', ''], 'link')).toBe('<a>, <b>, ');
    expect(fieldValue(['X', 'Link'], 'link')).toBeUndefined();
    expect(fieldValue([], 'link')).toBeUndefined();
  });

  it('is a list for repeated fields, and names such as __proto__ are safe', () => {
    const byName = fieldsByName(['A', '1', 'a', '2', 'A', '3', '__proto__', 'x', 'Constructor', 'y']);
    expect(Object.entries(byName)).toEqual([
      ['a', ['1', '2', '3']],
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(fieldsByName([])['tostring']).toBeUndefined();
  });
});

describe('field lines', () => {
  it('are read without the space around values', () => {
    expect(fieldsOfLines('')).toEqual([]);
    expect(fieldsOfLines('A:b\r\nc: \t d  e \t\r\nF:\r\nG: :\u00e9:\r\n')).toEqual([
      'A',
      'b',
      'c',
      'd  e',
      'F',
      '',
      'G',
      ':\u00e9:',
    ]);
  });

  it.each(['A\r\n', 'A: b', 'A: b\n', 'A : b\r\n', ' A: b\r\n', 'A: b\r\n c\r\n', 'A: b\rC: d\r\n', ': b\r\n', '\r\n'])(
    'are rejected: %j',
    (text) => {
      expect(areFieldLines(text)).toBe(false);
      expect(() => fieldsOfLines(text)).toThrow('TRAILGATE_BAD_ANSWER');
    },
  );

  it('are read in linear time', () => {
    const ms = cpuMsOf(() => {
      for (const value of [`${' '.repeat(16_000)}\x01`, `x${' '.repeat(16_000)}x`, ' '.repeat(16_000)]) {
        try {
          fieldsOfLines(`A:${value}\r\n`);
        } catch {
          // Rejecting counts as reading here.
        }
      }
    });
    expect(ms).toBeLessThan(500);
  });
});

describe('a list', () => {
  it('has its members without surrounding space, and skips empty ones', () => {
    expect(listMembers(' Close ,\tX-Own,, ')).toEqual(['Close', 'X-Own']);
    expect(listTokens(' Close ,\tX-Own,, ')).toEqual(['close', 'x-own']);
    expect([listMembers(''), listMembers(' , ')]).toEqual([[], []]);
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DOCUMENT, NUMBER, saidBy } from '../../../test/support/random-json.js';
import {
  canonicalDigits,
  digitsOf,
  isExactNumber,
  isWhole,
  mayBeRounded,
  numberOf,
  plainDigits,
  parseExact,
  toPlain,
  toWellFormedJson,
} from './exact-json.js';

describe('exact JSON', () => {
  it.each(['9007199254740993123', '1.10', '1.0', '-0', '-0.0', '1e400', '1E5', '0.10000000000000000555', '1e21'])(
    'keeps the digits of %s',
    (digits) => {
      for (const json of [digits, `[${digits}]`, `{"a" :${digits}}`, `{"a":[1, ${digits} ]}`]) {
        expect(JSON.stringify(parseExact(json))).toBe(json.replaceAll(' ', ''));
      }
    },
  );

  it('keeps the digits of every number of any document', () => {
    fc.assert(
      fc.property(DOCUMENT, (json) => {
        const value = parseExact(json);
        expect(saidBy(JSON.stringify(value))).toEqual(saidBy(json));
        expect(toPlain(value)).toEqual(JSON.parse(json));
      }),
      { numRuns: 2_000 },
    );
  });

  it('parses numbers that JavaScript represents exactly as numbers', () => {
    expect(parseExact('[1,-2,0.5,1e+21,"1.10","9007199254740993123"]')).toEqual([
      1,
      -2,
      0.5,
      1e21,
      '1.10',
      '9007199254740993123',
    ]);
    expect([numberOf(parseExact('1.50')), numberOf('1'), numberOf({ rawJSON: '1' })]).toEqual([
      1.5,
      undefined,
      undefined,
    ]);
    expect([digitsOf(2), digitsOf(JSON.rawJSON('2.0'))]).toEqual(['2', '2.0']);
    expect(isExactNumber(parseExact('1.10'))).toBe(true);
  });

  it('copies a value only if it contains exact numbers', () => {
    const plain = { a: [1, { b: 'x' }] };
    expect(toPlain(plain)).toBe(plain);
    expect(toPlain(parseExact('{"a":[1.0,{"b":12345678901234567890}],"c":"1.0"}'))).toEqual({
      a: [1, { b: 12345678901234567000 }],
      c: '1.0',
    });
  });

  it.each([
    ['1.10', '11e-1'],
    ['11e-1', '11e-1'],
    ['-1100', '-11e2'],
    ['0.000', '0'],
    ['-0', '0'],
    ['1E+2', '1e2'],
    ['9007199254740993123', '9007199254740993123e0'],
    ['10e0000000000000000', '1e1'],
    ['1.5e+0000000000000000', '15e-1'],
    ['1e-0000000000000003', '1e-3'],
  ])('writes %s in the canonical form %s', (digits, form) => expect(canonicalDigits(digits)).toBe(form));

  it('has the same canonical form only for equal numbers', () => {
    fc.assert(
      fc.property(NUMBER, fc.integer({ min: 0, max: 9 }), (digits, zeros) => {
        const [, mantissa = '', exponent = ''] = /^([^eE]*)([eE].*)?$/.exec(digits) ?? [];
        const longer = `${mantissa}${mantissa.includes('.') ? '' : '.'}${'0'.repeat(zeros + 1)}${exponent}`;
        expect(canonicalDigits(longer)).toBe(canonicalDigits(digits));
        expect(canonicalDigits(longer.replace(/0(?=[eE]|$)/, '1'))).not.toBe(canonicalDigits(digits));
      }),
    );
  });

  it.each([
    ['1234567890123456789', false, '1234567890123456789'],
    ['1234567890123456800', true, '1234567890123456800'],
    ['1.2345678901234568e18', true, '1234567890123456800'],
    ['-9007199254740992', true, '-9007199254740992'],
    ['9007199254740991', false, '9007199254740991'],
    ['9007199254740993', false, '9007199254740993'],
    ['1.0', false, '1'],
    ['1e3', false, '1000'],
    ['-0', false, '0'],
    ['1.10', false, '1.10'],
    ['15e-1', false, '15e-1'],
    ['1e999999999', true, '1e999999999'],
  ])('reports whether %s may have been rounded: %s, and writes it as %s', (digits, isDoubtful, plain) => {
    const value = parseExact(digits) as number;
    expect([mayBeRounded(value), plainDigits(value)]).toEqual([isDoubtful, plain]);
  });

  it.each([
    ['1.0', true],
    ['1e3', true],
    ['12345678901234567890', true],
    ['1.5', false],
    ['15e-1', false],
    ['10e-1', true],
    ['1e-400', false],
  ])('reports whether %s is an integer: %s', (digits, whole) => expect(isWhole(JSON.rawJSON(digits))).toBe(whole));
});

describe('a lone surrogate', () => {
  it.each([
    ['"\\ud83d"', '"\\ufffd"'],
    ['"a\\uDE00b"', '"a\\ufffdb"'],
    ['"\\ud83d\\ude00"', '"\\ud83d\\ude00"'],
    ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
    ['"\\\\ud83d"', '"\\\\ud83d"'],
    ['"\\\\\\ud83d"', '"\\\\\\ufffd"'],
    ['{"\\udc00":1.10}', '{"\\ufffd":1.10}'],
  ])('of %s becomes %s', (json, mended) => {
    expect(toWellFormedJson(json)).toBe(mended);
    expect(JSON.stringify(JSON.parse(mended)).isWellFormed()).toBe(true);
  });
});

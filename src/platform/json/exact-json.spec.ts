import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  canonicalDigits,
  digitsOf,
  isExactNumber,
  isWhole,
  numberOf,
  parseExact,
  toPlain,
  toWellFormedJson,
} from './exact-json.js';

/** Numbers as JSON writes them, with any number of digits. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 40n }).map(String)),
    fc.option(fc.stringMatching(/^\d{1,25}$/), { nil: undefined }),
    fc.option(fc.stringMatching(/^[eE][+-]?\d{1,4}$/), { nil: undefined }),
  )
  .map(
    ([sign, whole, fraction, exponent]) =>
      `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent ?? ''}`,
  );
const space = fc.constantFrom('', ' ', '\n', '\t', '  ');
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), number).map((value) => JSON.stringify(value));

/** JSON texts, with the spaces that JSON allows. */
const { document } = fc.letrec<{ document: string }>((tie) => {
  const spaced = fc.tuple(space, tie('document'), space).map((parts) => parts.join(''));
  return {
    document: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      number,
      text,
      fc.constantFrom('true', 'false', 'null'),
      fc.array(spaced, { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(space, text, space, spaced), { maxLength: 5 })
        .map(
          (members) =>
            `{${members.map(([before, name, after, value]) => `${before}${name}${after}:${value}`).join(',')}}`,
        ),
    ),
  };
});

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
      fc.property(document, (json) => {
        const numbers = (of: string) => of.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
        const value = parseExact(json);
        const written = JSON.stringify(value);
        expect(toPlain(value)).toEqual(JSON.parse(json));
        // Of a name that comes twice, only the last member is left.
        expect(numbers(json)).toEqual(expect.arrayContaining(numbers(written)));
        expect(numbers(written).length).toBeGreaterThanOrEqual(numbers(JSON.stringify(JSON.parse(json))).length);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads a number that JavaScript keeps as a number', () => {
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

  it('copies a value for computing only where it has to', () => {
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
  ])('writes %s in the one form %s', (digits, form) => expect(canonicalDigits(digits)).toBe(form));

  it('tells equal numbers from different ones', () => {
    fc.assert(
      fc.property(number, fc.integer({ min: 0, max: 9 }), (digits, zeros) => {
        const [, mantissa = '', exponent = ''] = /^([^eE]*)([eE].*)?$/.exec(digits) ?? [];
        const longer = `${mantissa}${mantissa.includes('.') ? '' : '.'}${'0'.repeat(zeros + 1)}${exponent}`;
        expect(canonicalDigits(longer)).toBe(canonicalDigits(digits));
        expect(canonicalDigits(longer.replace(/0(?=[eE]|$)/, '1'))).not.toBe(canonicalDigits(digits));
      }),
    );
  });

  it.each([
    ['1.0', true],
    ['1e3', true],
    ['12345678901234567890', true],
    ['1.5', false],
    ['15e-1', false],
    ['10e-1', true],
    ['1e-400', false],
  ])('says whether %s is whole: %s', (digits, whole) => expect(isWhole(JSON.rawJSON(digits))).toBe(whole));
});

describe('half of a surrogate pair', () => {
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

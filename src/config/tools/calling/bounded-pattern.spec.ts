/** Patterns are matched only if this takes bounded time. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cpuMsOf } from '../../../../test/support/cpu-time.js';
import { BoundedPattern } from './bounded-pattern.js';

const LONG = 'a'.repeat(5_000);

describe('a pattern', () => {
  it.each([
    ['^[a-z]+$', LONG],
    ['^cus_[0-9A-Za-z]{20}$', LONG],
    ['^(19|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}$', '1990-04-23'],
    ['^\\+[1-9]\\d{6,14}$', '+436641234567'],
    ['^[^\\u0000-\\u001f]*[^\\s][^\\u0000-\\u001f]*$', 'Anna Huber'],
    ['^[a-z0-9]+(-[a-z0-9]+)*$', 'a-b'],
    ['^\\p{L}{1,50}$', 'Łukasz'],
    ['^(?:a|b)$', 'a'],
    ['^#?([a-f0-9]{6}|[a-f0-9]{3})$', '#ffcc00'],
    ['abc', LONG],
    ['', LONG],
    ['^$', ''],
  ])('%s is matched', (pattern, text) => {
    expect(new BoundedPattern(pattern).isMatch(text)).toBe(new RegExp(pattern, 'u').test(text));
  });

  it.each([
    ['^(a+)+$', 50],
    ['^(a|a)*$', 50],
    ['^(a|aa)+$', 50],
    ['(a*)*b', 50],
    ['^(a?){30}a{30}$', 30],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 50],
    ['^.*.*.*x$', 5_000],
    ['.*.*=.*', 5_000],
    ['^(?=(a+))\\1$', 50],
    ['^(?<x>a+)+\\k<x>$', 50],
  ])('%s is not matched against a long text', (pattern, length) => {
    expect(new BoundedPattern(pattern).isMatch('a'.repeat(length))).toBeUndefined();
  });

  it('that is not valid ECMAScript throws a SyntaxError', () => {
    expect(() => new BoundedPattern('(?i)a')).toThrow(SyntaxError);
  });

  it('generated at random is matched or skipped within 300 ms', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^b]', '\\w', 'a|b', '(?:ab)');
    const quantifier = fc.constantFrom('', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?');
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => one + other),
        fc.tuple(tie('pattern'), quantifier).map(([inner, often]) => `(${inner})${often}`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(?:${one}|${other})`),
      ),
    }));
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 40 }),
      fc.nat(60).map((length) => `${'a'.repeat(length)}!`),
    );
    let tried = 0;
    fc.assert(
      fc.property(pattern, fc.boolean(), text, (inner, isWhole, given) => {
        const bounded = new BoundedPattern(isWhole ? `^${inner}$` : inner);
        let found: boolean | undefined;
        expect(cpuMsOf(() => (found = bounded.isMatch(given)))).toBeLessThan(300);
        if (found !== undefined) tried++;
      }),
      { numRuns: 3_000 },
    );
    expect(tried).toBeGreaterThan(1_000);
  });
});

/** The `detail` for a rejected path names the wrong character and the correct form. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { pathFault } from './path-fault.js';
import { pathSegments } from './path.js';

describe('the detail names what is wrong with a path', () => {
  it.each([
    ['/p/a[1]', '[. Encode it as %5B'],
    ['/p/a]', ']. Encode it as %5D'],
    ['/p/a|b', '|. Encode it as %7C'],
    ['/p/a^b', '^. Encode it as %5E'],
    ['/p/{id}', '{. Encode it as %7B'],
    ['/p/`', '`. Encode it as %60'],
    ['/p/"', '". Encode it as %22'],
    ['/p/<a>', '<. Encode it as %3C'],
    ['/p/a b', 'a space. Encode it as %20'],
    ['/p/a#b', '#. Encode it as %23'],
    ['/p/a;b', 'a semicolon'],
    ['/p/a%3bb', 'a semicolon'],
    ['/p/a\\b', 'a backslash'],
    ['/p/a%5Cb', 'a backslash'],
    ['/p/\xc3\xa9', 'a non-ASCII character. Percent-encode it as UTF-8'],
    ['/p/bad%zz', 'a % without two hexadecimal digits after it. Encode it as %25'],
    ['/p/100%', 'a % without two hexadecimal digits after it. Encode it as %25'],
    ['/p/x%00y', 'the control character %00'],
    ['/p/a%09b', 'the control character %09'],
    ['/p/a%7Fb', 'the control character %7F'],
    ['/p/a\tb', 'a control character'],
    ['/p/caf%E9', '%E9, which is not UTF-8. Encode é as %C3%A9'],
    ['/p/%C3%A9%e9', '%e9, which is not UTF-8. Encode é as %C3%A9'],
    ['/p/%c0%af', '%c0, which is not UTF-8'],
    ['/p/%80', '%80, which is not UTF-8. Encode the text'],
    ['/p/%ed%a0%80', '%ed, which is not UTF-8'],
    ['/p/a%2525b', '%25 after decoding'],
    ['/p/a%252fb', '%2f after decoding'],
    ['/p/a%25%32%66b', '%2f after decoding'],
    ['/p/../b', 'a "." or ".." segment'],
    ['/p/%2e', 'a "." or ".." segment'],
    ['/p/..%2Fb', 'a "." or ".." segment'],
    ['/p//b', 'an empty segment'],
    ['/p//', 'an empty segment'],
    ['/p/a%2Fb', 'an encoded slash (%2F)'],
    ['p', 'does not start with a slash'],
  ])('%s has %s', (path, words) => {
    expect(pathSegments(path)).toBeUndefined();
    expect(pathFault(path)).toContain(words);
  });
});

it('the suggested encoding is accepted', () => {
  for (const character of '[]{}|^`"<> #%') {
    const [, remedy = ''] = /Encode it as (\S+)\.$/.exec(pathFault(`/p/${character}`)) ?? [];
    expect(pathSegments(`/p/${remedy}`)).toEqual(['p', character]);
  }
});

it('every refused path gets a one-line detail that mentions an empty segment only if there is one', () => {
  const parts = [
    '/',
    '%',
    '%2',
    '%2f',
    '%25',
    '2f',
    '%c3',
    '%a9',
    '%ff',
    '..',
    '.',
    'a',
    ';',
    '[',
    '\\',
    '\xe9',
    '%00',
  ];
  const any = fc.oneof(
    fc.array(fc.constantFrom(...parts), { maxLength: 10 }).map((texts) => `/${texts.join('')}`),
    fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  );
  fc.assert(
    fc.property(any, (path) => {
      if (pathSegments(path) !== undefined) return;
      expect(pathFault(path)).toMatch(/^The path [^\n]{10,150}\.$/);
      expect(pathFault(path).includes('an empty segment') && !path.includes('//')).toBe(false);
    }),
    { numRuns: 3_000 },
  );
});

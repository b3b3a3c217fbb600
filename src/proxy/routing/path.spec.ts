/** Unambiguous paths are split into segments. All others are rejected. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ANY_CHARACTER } from '../../../test/support/texts.js';
import { pathSegments } from './path.js';

describe('a path that can be read in one way only', () => {
  it.each<[string, string[]]>([
    ['/', ['']],
    ['/customers', ['customers']],
    ['/customers/', ['customers', '']],
    ['/customers/cus_1/notes', ['customers', 'cus_1', 'notes']],
    ["/a-b_c~d/!$&'()*+,=:@", ['a-b_c~d', "!$&'()*+,=:@"]],
    ['/report.v2.pdf', ['report.v2.pdf']],
    ['/.well-known', ['.well-known']],
    ['/...', ['...']],
  ])('%s has these segments', (path, segments) => {
    expect(pathSegments(path)).toEqual(segments);
  });

  it.each<[string, string[]]>([
    ['/%63ustomers', ['customers']],
    ['/cus%5F1', ['cus_1']],
    ['/cus%5f1', ['cus_1']],
    ['/a%2Eb', ['a.b']],
    ['/caf%C3%A9', ['café']],
    ['/a%20b', ['a b']],
    ['/100%25', ['100%']],
    ['/what%3F', ['what?']],
    ['/no%231', ['no#1']],
  ])('%s is decoded once', (path, segments) => {
    expect(pathSegments(path)).toEqual(segments);
  });
});

describe('an ambiguous path is refused', () => {
  it.each([
    ['an encoded slash', ['/a%2fb', '/a%2Fb', '/%2f', '/a/%2F']],
    ['a backslash', ['/a\\b', '/a%5cb', '/a%5Cb', '/\\evil']],
    ['an end of text', ['/a%00', '/%00/b', '/a\0']],
    [
      'dot segments',
      [
        '/..',
        '/.',
        '/a/..',
        '/a/../b',
        '/a/./b',
        '/%2e',
        '/a/%2e%2e/b',
        '/a/.%2E',
        '/a/%2E.',
        '/a/..%3f',
        '/a/..%23',
        '/a/%20..%20',
      ],
    ],
    ['empty segments', ['//', '//a', '/a//b', '/a//']],
    ['path parameters', ['/a;b', '/a;', '/a;jsessionid=1/b', '/a%3Bb', '/a%3b']],
    [
      'what is encoded twice',
      [
        '/%252f',
        '/a%252e%252e/b',
        '/%255c',
        '/%2500',
        '/%25252f',
        '/%253b',
        '/%2565xport',
        '/a%25%32%66b',
        '/%25%32f',
        '/%252%65',
      ],
    ],
    ['control characters', ['/a%0a', '/a%0D%0Ab', '/a%7f', '/a%1F', '/a\nb', '/a\tb']],
    ['what is no UTF-8', ['/%ff', '/%c0%af', '/%c0%ae%c0%ae', '/%e0%80%af', '/%ed%a0%80']],
    ['broken encoding', ['/%', '/a%2', '/a%zz', '/%u002f', '/%%32%66']],
    ['a fragment', ['/a#b', '/export#', '/#']],
    ['what RFC 3986 does not allow', ['/a b', '/a"b', '/<a>', '/a|b', '/a^b', '/{id}', '/[a]', '/`', '/é', '/∕']],
    ['no leading slash', ['*', 'a', 'http://a/b', 'a:80', '.']],
  ])('%s', (_what, paths) => {
    for (const path of paths) expect({ path, segments: pathSegments(path) }).toEqual({ path, segments: undefined });
  });

  it('a query is not part of a path', () => {
    expect(pathSegments('/a?b')).toBeUndefined();
  });
});

describe('for any path', () => {
  const tokens = [
    '/',
    '.',
    '..',
    '%2e',
    '%2f',
    '%5c',
    '%25',
    '2f',
    ';',
    '\\',
    '%',
    '%00',
    'a',
    'Z',
    '%61',
    '%C3%A9',
    '#',
    ' ',
  ];
  const anyPath = fc.oneof(
    fc.array(fc.constantFrom(...tokens), { maxLength: 12 }).map((parts) => `/${parts.join('')}`),
    fc.string(),
  );

  it('no segment holds a separator, a dot segment or a control character', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        for (const segment of pathSegments(path) ?? []) {
          expect(segment).not.toMatch(/[/\\\x00-\x1f\x7f]/);
          expect(['.', '..']).not.toContain(segment);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepted encoded slashes separate parts that are valid segments themselves', () => {
    const slashed = fc
      .array(fc.constantFrom('a', 'b', '.', '/', '%2F', '%2f', '%61'), { maxLength: 8 })
      .map((parts) => `/${parts.join('')}`);
    let withSlash = 0;
    fc.assert(
      fc.property(fc.oneof(anyPath, slashed), (path) => {
        for (const segment of pathSegments(path, true) ?? []) {
          if (!segment.includes('/')) continue;
          withSlash++;
          const parts = segment.split('/').map(encodeURIComponent);
          expect(pathSegments(`/${parts.join('/')}/x`)).toEqual([...segment.split('/'), 'x']);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(withSlash).toBeGreaterThan(10);
  });

  it('the segments, encoded again, equal the sent path', () => {
    fc.assert(
      fc.property(anyPath, (path) => {
        const segments = pathSegments(path);
        if (segments === undefined) return;
        expect(`/${segments.map(encodeURIComponent).join('/')}`).toBe(
          path
            .split('/')
            .map((part) => encodeURIComponent(decodeURIComponent(part)))
            .join('/'),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('any text can be an identifier, except with separators, control characters or encoded ones', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, minLength: 1 }), (id) => {
        const path = `/customers/${encodeURIComponent(id)}`;
        const refused = /[/\\;\x00-\x1f\x7f]|^\s*\.\.?\s*(?:[?#]|$)|%[0-9a-f]{2}/i.test(id);
        expect(pathSegments(path)).toEqual(refused ? undefined : ['customers', id]);
      }),
      { numRuns: 1_000 },
    );
  });
});

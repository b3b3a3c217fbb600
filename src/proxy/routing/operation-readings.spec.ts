/** No interpretation of a path, by the gateway or by a backend, leads to an operation that was not matched. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OPERATIONS, table } from '../../../test/support/operation-tables.js';
import type { Operation } from '../../config/model/schema.js';

/**
 * Splits a path by the letter of RFC 3986: at `/`, then decoded. Returns undefined if the grammar does not allow it.
 */
function strictReading(path: string): string[] | undefined {
  if (!path.startsWith('/')) return undefined;
  const segments: string[] = [];
  for (const part of path.slice(1).split('/')) {
    if (!/^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*$/.test(part)) return undefined;
    try {
      segments.push(decodeURIComponent(part));
    } catch {
      return undefined;
    }
  }
  return segments;
}

/** Finds the operation for segments: static segments first, without checks for suspicious forms. */
function operationOf(method: string, segments: readonly string[]): string | undefined {
  const fits = OPERATIONS.filter((operation) => {
    const names = operation.template.slice(1).split('/');
    const same = operation.method === method || (method === 'HEAD' && operation.method === 'GET');
    const fit = (name: string, at: number) => (name.startsWith('{') ? segments[at] !== '' : name === segments[at]);
    return same && names.length === segments.length && names.every(fit);
  });
  const parameters = ({ template }: Operation) => template.split('{').length;
  return fits.toSorted((a, b) => parameters(a) - parameters(b))[0]?.id;
}

/** Transformations that real backends apply to a path before routing. */
const BACKEND_READINGS: Readonly<Record<string, (path: string) => string>> = {
  'dot segments are resolved': (path) => new URL(`http://x${path}`).pathname,
  'decoded, then resolved': (path) => new URL(`http://x${encodeURI(decodeURIComponent(path))}`).pathname,
  'decoded twice': (path) => decodeURIComponent(decodeURIComponent(path)),
  'lower case': (path) => path.toLowerCase(),
  'slashes are merged': (path) => path.replaceAll(/\/+/g, '/'),
  'backslashes are slashes': (path) => decodeURIComponent(path).replaceAll('\\', '/'),
  'path parameters are cut off': (path) => decodeURIComponent(path).replaceAll(/;[^/]*/g, ''),
  'ends at a fragment or a query': (path) => decodeURIComponent(path).replace(/[#?].*$/, ''),
  'ends at a zero byte': (path) => decodeURIComponent(path).replace(/\0.*$/, ''),
  'a suffix names the format': (path) => decodeURIComponent(path).replace(/\.[^./]*$/, ''),
  'space around segments is cut off': (path) => decodeURIComponent(path).replaceAll(/\s*(\/|$)\s*/g, '$1'),
};

describe('for any path', () => {
  const words = ['customers', 'export', 'EXPORT', 'notes', 'archive.zip', 'cus_1', 'probe', 'usage', 'tours', 'x', ''];
  const tricks = [
    '/',
    '//',
    '.',
    '..',
    '%2e',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    ';',
    '%3b',
    '%00',
    '%25',
    '65',
    '2f',
    '%32',
    '%66',
    '%65',
    '%20',
    '.json',
    '#',
    '?',
    '%3f',
    '%23',
    'é',
    '%c3%a9',
    '%ff',
    '%0a',
  ];
  const segment = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...words) },
    {
      weight: 2,
      arbitrary: fc.array(fc.constantFrom(...words, ...tricks), { maxLength: 4 }).map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: fc.string() },
  );
  const anyPath = fc.oneof(
    { weight: 3, arbitrary: fc.array(segment, { maxLength: 4 }).map((parts) => `/customers/${parts.join('/')}`) },
    { weight: 2, arbitrary: fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`) },
    { weight: 1, arbitrary: fc.string() },
  );
  const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'get', 'TRACE');

  it('the matched operation is the one of a strict reading, or none', () => {
    let found = 0;
    fc.assert(
      fc.property(method, anyPath, (sent, path) => {
        const match = table.match(sent, path);
        if (match.kind !== 'operation') return;
        found++;
        const segments = strictReading(path);
        expect(segments).toBeDefined();
        expect(operationOf(sent, segments ?? [])).toBe(match.operation.id);
      }),
      { numRuns: 3_000 },
    );
    // About three in a hundred match. The seed varies.
    expect(found).toBeGreaterThan(40);
  });

  it('no backend that normalizes paths reaches another operation than the matched one', () => {
    let found = 0;
    fc.assert(
      fc.property(method, anyPath, (sent, path) => {
        const match = table.match(sent, path);
        // How a backend interprets a path that was configured in exactly these characters is up to the operator.
        if (match.kind !== 'operation' || match.operation.template === path) return;
        // `#` and `?` are allowed in identifiers. A backend that decodes before it parses loses the segments after
        // them.
        if (/%(?:23|3f).*\//i.test(path)) return;
        found++;
        for (const [name, read] of Object.entries(BACKEND_READINGS)) {
          let seen: string;
          try {
            seen = read(path);
          } catch {
            continue; // a backend that cannot read it, either
          }
          const other = operationOf(sent, seen.slice(1).split('/'));
          expect([name, other ?? match.operation.id]).toEqual([name, match.operation.id]);
        }
      }),
      { numRuns: 3_000 },
    );
    // About three in a hundred match. The seed varies.
    expect(found).toBeGreaterThan(40);
  });
});

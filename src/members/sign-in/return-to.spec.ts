/** After a sign-in, a browser never continues to a page of another site. */
import { describe, expect, it } from '@jest/globals';
import { returnPath } from './return-to.js';

describe('the page after a sign-in', () => {
  it.each(['/', '/accounts/acc_1/api-keys?status=active#top', '/api-keys/new?name=Widget&scopes=a%20b'])(
    'is the requested path %j',
    (path) => {
      expect(returnPath(path)).toBe(path);
    },
  );

  it.each([
    undefined,
    '',
    'api-keys',
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '\\\\evil.example',
    '///evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'javascript:alert(1)',
    '/\u202Egpj.exe',
    '/ä',
    `/${'a'.repeat(2_000)}`,
  ])('is the start page for %j', (text) => {
    expect(returnPath(text)).toBe('/');
  });
});

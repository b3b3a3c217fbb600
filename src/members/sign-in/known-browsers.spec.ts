/** The cookie by which a browser is known: of one member, of one installation, for half a year. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { KNOWN_BROWSER_SECONDS, KnownBrowsers } from './known-browsers.js';

const NOW_MS = 1_795_000_000_000;
const browsers = new KnownBrowsers(randomBytes(32));

describe('a browser in which a member has signed in', () => {
  const value = browsers.createCookieValue('mem_1', NOW_MS);

  it('has the same ID for 180 days', () => {
    const name = browsers.readBrowserId(value, 'mem_1', NOW_MS);
    expect(name).toMatch(/^[\w-]{22}$/);
    expect(browsers.readBrowserId(value, 'mem_1', NOW_MS + KNOWN_BROWSER_SECONDS * 1_000 - 1_000)).toBe(name);
    expect(browsers.readBrowserId(value, 'mem_1', NOW_MS + KNOWN_BROWSER_SECONDS * 1_000)).toBeNull();
    expect(browsers.readBrowserId(browsers.createCookieValue('mem_1', NOW_MS), 'mem_1', NOW_MS)).not.toBe(name);
  });

  it('is unknown to other members and installations', () => {
    expect(browsers.readBrowserId(value, 'mem_2', NOW_MS)).toBeNull();
    expect(new KnownBrowsers(randomBytes(32)).readBrowserId(value, 'mem_1', NOW_MS)).toBeNull();
  });

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['words', 'yes, I am known'],
    ['a later end', value.replace(/\.\d+\./, '.99999999999.')],
    ['another name', `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`],
    ['half a code', value.slice(0, -2)],
  ])('cannot be forged with %s', (_what, made) => {
    expect(browsers.readBrowserId(made, 'mem_1', NOW_MS)).toBeNull();
  });
});

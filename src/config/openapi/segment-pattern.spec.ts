/** Matching segments such as `{id}:archive`, and the time for a hostile one. */
import { describe, expect, it } from '@jest/globals';
import { isSegmentPattern, SegmentPattern } from './segment-pattern.js';

describe('a segment', () => {
  it.each([
    ['{id}:archive', '1:archive', true, true],
    ['{id}:archive', ':archive:archive', true, true],
    ['{id}:archive', ':archive', false, true],
    ['{id}:archive', '1:ARCHIVE', false, true],
    ['{id}:archive', '1:archive.json', false, true],
    ['{id}:archive', '1:archive ', false, true],
    ['{id}:archive', '1:archived', false, false],
    ['{id}:archive', '1', false, false],
    ['{base}...{head}', 'main...next', true, true],
    ['{base}...{head}', 'main....next', true, true],
    ['{base}...{head}', 'main...', false, true],
    ['{base}...{head}', 'main..next', false, false],
    ['v{major}', 'v2', true, true],
    ['v{major}', 'V2', false, true],
    ['v{major}', 'w2', false, false],
    ['{a}-{b}.{c}', 'x-y.z', true, true],
    ['{a}-{b}.{c}', 'x.y-z', false, false],
  ])('%s and %j: matches %s, resembles %s', (pattern, segment, matches, resembles) => {
    const compiled = new SegmentPattern(pattern);
    expect([compiled.matches(segment), compiled.resembles(segment)]).toEqual([matches, resembles]);
  });

  it('is matched in linear time', () => {
    const hostile = '.'.repeat(1_000_000);
    const since = performance.now();
    expect(new SegmentPattern('{a}.{b}.{c}.{d}:x').matches(hostile)).toBe(false);
    // Backtracking would take years.
    expect(performance.now() - since).toBeLessThan(2_000);
  });

  it.each([
    ['{id}', false],
    ['id', false],
    ['{id}:archive', true],
    ['v{id}', true],
    ['{a}.{b}', true],
  ])('%s is a pattern: %s', (segment, isPattern) => {
    expect(isSegmentPattern(segment)).toBe(isPattern);
  });
});

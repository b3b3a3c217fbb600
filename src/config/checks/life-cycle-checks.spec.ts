import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../../test/support/config-files.js';

const messagesOf = async (yaml: string): Promise<string[]> =>
  (await problemsOf({ 'gateway.yaml': `${MINIMAL}\n${yaml}\n`, 'customers.yaml': OPENAPI })).map(
    ({ message }) => message,
  );

describe('life cycle dates', () => {
  it.each([
    ['api: { deprecation: "2027-01-01", sunset: "2028-01-01" }', []],
    ['api: { deprecation: "2027-01-01" }', []],
    ['api: { deprecation: "2027-01-01", sunset: "2026-12-31" }', [/before deprecation/]],
    ['api: { deprecation: "2027-01-01", sunset: "2027-12-31" }', [/less than the 12 months/]],
    ['api: { deprecation: "2027-01-01", sunset: "2027-07-01", supportMonths: 6 }', []],
    [
      'operations: [{ match: GET /customers, deprecation: "2027-01-01", sunset: "2027-02-01" }]',
      [/less than the 12 months/],
    ],
    ['api: { brownouts: [{ from: "2027-01-01T10:00:00Z", to: "2027-01-01T10:00:00Z" }] }', [/ends after it begins/]],
    [
      'api: { deprecation: "2027-06-01", brownouts: [{ from: "2027-01-01T10:00:00Z", to: "2027-01-01T11:00:00Z" }] }',
      [/comes after the deprecation/],
    ],
  ])('%s', async (yaml, expected) => {
    const problems = await messagesOf(yaml);
    expect(problems).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(problems[index]).toMatch(pattern);
  });
});

describe('a warning', () => {
  it.each([
    ['api: { sunset: "2020-01-01" }', 'api.sunset', 'is in the past: every request gets 410'],
    [
      'operations: [{ match: GET /customers, sunset: "2020-01-01" }]',
      'operations[0].sunset',
      'is in the past: every request for it gets 410',
    ],
    [
      'operations: [{ match: GET /customers, scopes: [a:read, b:read, a:read] }]',
      'operations[0].scopes[2]',
      '`a:read` is in the list twice',
    ],
    ['api: { title: "Boats\u202e" }', 'api.title', 'has the invisible character U+202E'],
    ['api: { title: "Bo\u200bats" }', 'api.title', 'has the invisible character U+200B'],
  ])('is given for %s at its line', async (yaml, path, message) => {
    const found = await warningsOf({ 'gateway.yaml': `${MINIMAL}\n${yaml}\n`, 'customers.yaml': OPENAPI });
    expect(found).toEqual([
      expect.objectContaining({ path, message: expect.stringContaining(message), line: expect.any(Number) }),
    ]);
    expect(found[0]?.hint).not.toBe('');
  });

  it('is not given for a future sunset, distinct scopes, or joiners in emoji', async () => {
    const api = 'api: { sunset: "2999-01-01", title: "Boats 👨\u200d👩" }';
    const yaml = `${api}\noperations: [{ match: GET /customers, scopes: [a:read] }]`;
    expect(await warningsOf({ 'gateway.yaml': `${MINIMAL}\n${yaml}\n`, 'customers.yaml': OPENAPI })).toEqual([]);
  });

  it('names the invisible character in a key that looks like a known key', async () => {
    for (const [character, name] of [
      ['\u200b', 'U+200B'],
      ['\u00a0', 'U+00A0'],
    ] as const) {
      const yaml = `api: { ti${character}tle: Boats }`;
      expect((await messagesOf(yaml)).join()).toContain(`which has the invisible character ${name}`);
    }
  });
});

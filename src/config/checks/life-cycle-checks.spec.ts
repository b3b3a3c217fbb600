import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';

const messagesOf = async (yaml: string): Promise<string[]> =>
  (await problemsOf({ 'gateway.yaml': `${MINIMAL}\n${yaml}\n`, 'customers.yaml': OPENAPI })).map(
    ({ message }) => message,
  );

describe('the dates of a life cycle', () => {
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

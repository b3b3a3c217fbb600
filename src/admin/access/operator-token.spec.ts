/** The operator token in the data folder: created once, the same for every process, never weak. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { operatorToken, operatorTokenFile } from './operator-token.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'operator-token-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the operator token', () => {
  it('is created once, readable only by its owner, and shared by processes that start concurrently', async () => {
    const tokens = await Promise.all(Array.from({ length: 5 }, () => operatorToken(folder, undefined)));
    expect(new Set(tokens).size).toBe(1);
    expect(tokens[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(readFileSync(operatorTokenFile(folder), 'utf8').trim()).toBe(tokens[0]);
    expect(statSync(operatorTokenFile(folder)).mode & 0o777).toBe(0o600);
    expect(await operatorToken(folder, undefined)).toBe(tokens[0]);
  });

  it.each([
    ['empty, as a power cut between making and writing it leaves it', ''],
    ['too short to be safe', 'abc\n'],
  ])('is refused with instructions if its file is %s, unless another token is given', async (_what, text) => {
    writeFileSync(operatorTokenFile(folder), text);
    await expect(operatorToken(folder, undefined)).rejects.toThrow(/admin-token.*32 characters.*delete/);
    expect(await operatorToken(folder, 'given')).toBe('given');
  });
});

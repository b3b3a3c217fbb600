/** The operators' token of the admin API: from the environment, else made once and kept in the data folder. */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDataFolder } from '../database/data-folder.js';

/** Where the token is kept when the environment gives none; only its owner can read it. */
export function operatorTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token');
}

/** The token to sign operators in with. Rejects when the folder cannot be written. */
export async function operatorToken(dataDir: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const file = operatorTokenFile(dataDir);
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (kept.trim().length >= 32) return kept.trim();
  const token = randomBytes(32).toString('hex');
  makeDataFolder(dataDir);
  try {
    await writeFile(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
    return token;
  } catch (error) {
    // Another process was faster: its token is the one.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return (await readFile(file, 'utf8')).trim();
  }
}

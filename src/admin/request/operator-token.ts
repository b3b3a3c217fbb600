/** The operators' token of the admin API: from the environment, else made once and kept in the data folder. */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeDataFolder } from '../../database/data-folder.js';

const SHORTEST_TOKEN = 32;
/** How often, and after how long, a file is read again that another process is just writing. */
const READ_ATTEMPTS = 10;
const READ_PAUSE_MS = 20;

/** Where the token is kept when the environment gives none; only its owner can read it. */
export function operatorTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token');
}

/**
 * The token to sign operators in with. Rejects when the folder cannot be written, or holds a file that is no token: an
 * empty one would lock everybody out, a short one could be guessed.
 */
export async function operatorToken(dataDir: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  const file = operatorTokenFile(dataDir);
  const kept = await keptToken(file);
  if (kept !== undefined) return kept;
  const token = randomBytes(32).toString('hex');
  makeDataFolder(dataDir);
  try {
    await writeFile(file, `${token}\n`, { mode: 0o600, flag: 'wx' });
    return token;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return await tokenOfAnother(file);
  }
}

async function keptToken(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim().length >= SHORTEST_TOKEN ? text.trim() : undefined;
}

/** Another process was faster: its token is the one, as soon as it is written. */
async function tokenOfAnother(file: string): Promise<string> {
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt++) {
    const token = await keptToken(file);
    if (token !== undefined) return token;
    await sleep(READ_PAUSE_MS);
  }
  throw new Error(`${file} does not hold ${SHORTEST_TOKEN} characters or more; delete it to have a token made`);
}

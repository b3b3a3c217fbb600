/** The operators' token of the admin API: from the environment, else made once and kept in the data folder. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeDataFolder } from '../../stores/database/data-folder.js';
import { keptSecret } from '../../stores/secrets/kept-secret.js';

const SHORTEST_TOKEN = 32;

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
  makeDataFolder(dataDir);
  return await keptSecret({
    file: operatorTokenFile(dataDir),
    isOne: (text) => text.length >= SHORTEST_TOKEN,
    form: `${SHORTEST_TOKEN} characters or more`,
    make: () => randomBytes(32).toString('hex'),
  });
}

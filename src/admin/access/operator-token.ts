/**
 * Provides the operator token of the admin API. The token comes from the environment, or is generated once and stored
 * in the data folder.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeDataFolder } from '../../stores/database/data-folder.js';
import { keptSecret } from '../../stores/secrets/kept-secret.js';

const SHORTEST_TOKEN = 32;

/**
 * Returns the path of the token file. The file is used if the environment sets no token. Only its owner can read it.
 */
export function operatorTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token');
}

/**
 * Returns the operator token. Rejects if the folder cannot be written or the file holds no valid token. An empty token
 * would lock all operators out, and a short token could be guessed.
 * @param given token of the environment. Undefined if none is set.
 */
export async function operatorToken(dataDir: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  makeDataFolder(dataDir);
  return await keptSecret({
    file: operatorTokenFile(dataDir),
    isValid: (text) => text.length >= SHORTEST_TOKEN,
    form: `${SHORTEST_TOKEN} characters or more`,
    create: () => randomBytes(32).toString('hex'),
  });
}

/**
 * Reads the operator token of the admin API from the environment, or from a file in the data folder. Generates the
 * token and writes the file if both are missing. The start fails if the file is invalid or cannot be written.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { makeDataFolder } from '../../stores/database/data-folder.js';
import { readOrCreateSecret } from '../../stores/secrets/secret-file.js';

const SHORTEST_TOKEN = 32;

/**
 * Returns the path of the token file, which is used if the environment sets no token. Only the owner of the file can
 * read it.
 */
export function operatorTokenFile(dataDir: string): string {
  return join(dataDir, 'admin-token');
}

/**
 * Returns the operator token, and creates the token file if needed. Rejects if the folder or file cannot be written, or
 * if the token in the file is shorter than 32 characters. A short token could be guessed.
 * @param given token of the environment. Undefined if none is set.
 */
export async function operatorToken(dataDir: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return given;
  makeDataFolder(dataDir);
  return await readOrCreateSecret({
    file: operatorTokenFile(dataDir),
    isValid: (text) => text.length >= SHORTEST_TOKEN,
    form: `${SHORTEST_TOKEN} characters or more`,
    create: () => randomBytes(32).toString('hex'),
  });
}

/** The key that encrypts secrets in the database, from the environment or the data folder. */
import { join } from 'node:path';
import { makeDataFolder } from '../database/data-folder.js';
import { keptSecret } from './kept-secret.js';
import { newSecretsKey, parseSecretsKey, SecretBox } from './secret-box.js';

/** Returns the path of the key file, which is used if the environment contains no key. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets-key');
}

/**
 * Opens the box for secrets of members and webhook endpoints.
 * @param given `TRAILGATE_SECRETS_KEY`.
 * @param isEmbedded whether the database is in the data folder. In that case the key is created there at the first
 * start.
 * @returns null if several machines may share the database and no key was given, because one machine could not open
 * what another has sealed. Authenticator apps and webhook signatures are not available then.
 */
export async function openSecretBox(
  dataDir: string,
  given: string | undefined,
  isEmbedded: boolean,
): Promise<SecretBox | null> {
  if (given === undefined && !isEmbedded) return null;
  const text = given ?? (await readOrCreateKey(dataDir));
  const key = parseSecretsKey(text);
  if (key === null) throw new Error('TRAILGATE_SECRETS_KEY is not 32 bytes in base64');
  return new SecretBox(key);
}

async function readOrCreateKey(dataDir: string): Promise<string> {
  makeDataFolder(dataDir);
  return await keptSecret({
    file: secretsKeyFile(dataDir),
    isOne: (text) => parseSecretsKey(text) !== null,
    form: 'a key of 32 bytes in base64',
    make: newSecretsKey,
  });
}

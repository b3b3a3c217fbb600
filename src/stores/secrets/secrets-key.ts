/** Provides the key that encrypts secrets in the database, from the environment or the data folder. */
import { join } from 'node:path';
import { makeDataFolder } from '../database/data-folder.js';
import { readOrCreateSecret } from './secret-file.js';
import { newSecretsKey, parseSecretsKey, SecretBox } from './secret-box.js';

/** Returns the path of the key file. The file is used only if the environment contains no key. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets-key');
}

/**
 * Opens the `SecretBox` for secrets of members and webhook endpoints.
 * @param given value of `TRAILGATE_SECRETS_KEY`
 * @param isEmbedded whether the database is in the data folder. If so, the key is created there at the first start.
 * @returns null if no key is given and the database is not in the data folder. Several machines may then share the
 * database, and one machine could not decrypt the secrets of another. Authenticator apps and webhook signatures are not
 * available then. Rejects if the key is not valid.
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
  return await readOrCreateSecret({
    file: secretsKeyFile(dataDir),
    isValid: (text) => parseSecretsKey(text) !== null,
    form: 'a key of 32 bytes in base64',
    create: newSecretsKey,
  });
}

/** The key that secrets in the database are sealed with: from the environment, else kept in the data folder. */
import { join } from 'node:path';
import { makeDataFolder } from '../database/data-folder.js';
import { keptSecret } from './kept-secret.js';
import { newSecretsKey, parseSecretsKey, SecretBox } from './secret-box.js';

/** Where the key is kept when the environment gives none; only its owner can read it. */
export function secretsKeyFile(dataDir: string): string {
  return join(dataDir, 'secrets-key');
}

/**
 * Opens the box for secrets: of members, and of webhook endpoints.
 * @param given `TRAILGATE_SECRETS_KEY`.
 * @param isEmbedded whether the database is in the data folder, too: then a key beside it is made at the first start.
 * @returns null with a database that several machines may share and no key for them: what one of them had sealed, the
 * others could not open. Authenticator apps are not offered then, nor webhooks signed.
 */
export async function openSecretBox(
  dataDir: string,
  given: string | undefined,
  isEmbedded: boolean,
): Promise<SecretBox | null> {
  if (given === undefined && !isEmbedded) return null;
  const text = given ?? (await keptKey(dataDir));
  const key = parseSecretsKey(text);
  if (key === null) throw new Error('TRAILGATE_SECRETS_KEY is not 32 bytes in base64');
  return new SecretBox(key);
}

async function keptKey(dataDir: string): Promise<string> {
  makeDataFolder(dataDir);
  return await keptSecret({
    file: secretsKeyFile(dataDir),
    isOne: (text) => parseSecretsKey(text) !== null,
    form: 'a key of 32 bytes in base64',
    make: newSecretsKey,
  });
}

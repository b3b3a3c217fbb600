/**
 * Keeps a secret of the installation in a file, which is created once, shared by all processes, and readable only by
 * its owner.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum attempts to read a file that another process is still writing, and the pause between two attempts. */
const READ_ATTEMPTS = 10;
const READ_PAUSE_MS = 20;

export interface SecretFile {
  /** Path of the file. Its folder must exist. */
  readonly file: string;
  /** Reports whether a text is a valid secret. Must return false for an empty text, which a power failure can leave. */
  readonly isValid: (text: string) => boolean;
  /** Description of a valid secret for the error message, such as `32 characters or more`. */
  readonly form: string;
  /** Creates a new secret. */
  readonly create: () => string;
}

/**
 * Reads the secret, or creates it if there is no file. Rejects if the file cannot be written or has an invalid text.
 * Replacing that text could make everything unusable that was encrypted or signed with it.
 */
export async function readOrCreateSecret({ file, isValid, form, create }: SecretFile): Promise<string> {
  const read = async (): Promise<string | undefined> => {
    const text = (await readFile(file, 'utf8').catch(() => '')).trim();
    return isValid(text) ? text : undefined;
  };
  const existing = await read();
  if (existing !== undefined) return existing;
  const created = create();
  try {
    await writeFile(file, `${created}\n`, { mode: 0o600, flag: 'wx' });
    return created;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Another process has created the file first. This process waits until the file is written, and uses its secret.
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt++) {
    const otherSecret = await read();
    if (otherSecret !== undefined) return otherSecret;
    await sleep(READ_PAUSE_MS);
  }
  throw new Error(`${file} does not hold ${form}; delete the file to create a new one`);
}

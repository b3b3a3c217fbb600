/** A secret of the installation in a file: created once, shared by all processes, readable only by its owner. */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often and at which interval to read a file that another process is still writing. */
const READ_ATTEMPTS = 10;
const READ_PAUSE_MS = 20;

export interface KeptSecret {
  /** Path of the file. The folder must exist. */
  readonly file: string;
  /** Whether a text is a valid secret. An empty file, as left by a power failure, is not. */
  readonly isOne: (text: string) => boolean;
  /** Description of a valid secret for the error message, for example `32 characters or more`. */
  readonly form: string;
  readonly make: () => string;
}

/**
 * Reads the secret, or creates it. Rejects if the file cannot be written or holds something else: replacing it would
 * make everything that was sealed or signed with it unusable.
 */
export async function keptSecret({ file, isOne, form, make }: KeptSecret): Promise<string> {
  const read = async (): Promise<string | undefined> => {
    const text = (await readFile(file, 'utf8').catch(() => '')).trim();
    return isOne(text) ? text : undefined;
  };
  const kept = await read();
  if (kept !== undefined) return kept;
  const made = make();
  try {
    await writeFile(file, `${made}\n`, { mode: 0o600, flag: 'wx' });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // Another process has created the file first. Use its secret once it is written.
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt++) {
    const others = await read();
    if (others !== undefined) return others;
    await sleep(READ_PAUSE_MS);
  }
  throw new Error(`${file} does not hold ${form}; delete it to have a new one made`);
}

/** A secret of the installation in a file of its own: made once, the same for every process, for its owner alone. */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often, and after how long, a file is read again that another process is just writing. */
const READ_ATTEMPTS = 10;
const READ_PAUSE_MS = 20;

/** KeptSecret is where a secret lies and what it looks like. */
export interface KeptSecret {
  /** Its folder is there. */
  readonly file: string;
  /** Whether a text is such a secret: an empty file, as a power cut leaves it, is none. */
  readonly isOne: (text: string) => boolean;
  /** What it has to be, for the error, as `32 characters or more`. */
  readonly form: string;
  readonly make: () => string;
}

/**
 * Reads the secret, or makes it. Rejects where the file cannot be written, or holds something else: what was sealed or
 * signed with another one would be lost without a word.
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
  // Another process was faster: its secret is the one, as soon as it is written.
  for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt++) {
    const others = await read();
    if (others !== undefined) return others;
    await sleep(READ_PAUSE_MS);
  }
  throw new Error(`${file} does not hold ${form}; delete it to have a new one made`);
}

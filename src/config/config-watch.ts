/** Notices that the files of a configuration have changed: `gateway.yaml` and the OpenAPI documents that it names. */
import { unwatchFile, watchFile } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from './schema.js';

/** Files are looked at by name, so that one that was put in the place of another counts, also behind a link as in Kubernetes. */
const CHECK_INTERVAL_MS = 1_000;
/** Several files are seldom written at the same instant, and one seldom in one piece: they must stand still for this long. */
const SETTLE_MS = 250;
/** What never stands still is read as it is. */
const MOST_PAUSES = 20;

export class ConfigWatch {
  private watched: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isSettling = false;
  private stopped = false;

  constructor(private readonly onChange: () => void) {}

  /**
   * Watches the files of this configuration, and no longer those of another.
   * @param more files of one that was refused: it is tried again when one of them changes or comes to be.
   */
  follow({ path, file }: Pick<Config, 'path' | 'file'>, more: readonly string[] = []): void {
    const documents = Object.values(file.services).flatMap(({ openapi }) => (openapi === undefined ? [] : [openapi]));
    const files = [...new Set([path, ...documents.map((document) => resolve(dirname(path), document)), ...more])];
    const before = this.watched;
    this.watched = files;
    for (const name of before) if (!files.includes(name)) unwatchFile(name, this.changed);
    for (const name of files) {
      if (!before.includes(name)) watchFile(name, { interval: CHECK_INTERVAL_MS, persistent: false }, this.changed);
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.stopped = true;
    for (const name of this.watched) unwatchFile(name, this.changed);
    this.watched = [];
  }

  private readonly changed = (): void => {
    // Whoever waits already looks at all of them.
    if (this.isSettling) return;
    this.isSettling = true;
    void this.settle('', MOST_PAUSES);
  };

  /** Waits until the files have not changed for a while. */
  private async settle(before: string, pausesLeft: number): Promise<void> {
    const now = await signature(this.watched);
    if (this.stopped) return;
    if (now === before || pausesLeft === 0) {
      this.isSettling = false;
      this.onChange();
      return;
    }
    this.timer = setTimeout(() => void this.settle(now, pausesLeft - 1), SETTLE_MS);
    this.timer.unref();
  }
}

/** Another text for every other state of the files. */
async function signature(files: readonly string[]): Promise<string> {
  const states = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
        () => 'none',
      ),
    ),
  );
  return states.join();
}

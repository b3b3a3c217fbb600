/**
 * Notices that files have changed. They are looked at by name, so that one that was put in the place of another counts, also
 * behind a link as in Kubernetes.
 */
import { unwatchFile, watchFile } from 'node:fs';
import { stat } from 'node:fs/promises';

const CHECK_INTERVAL_MS = 1_000;
/** Several files are seldom written at the same instant, and one seldom in one piece: they must stand still for this long. */
const SETTLE_MS = 250;
/** What never stands still is read as it is. */
const MOST_PAUSES = 20;

export class FileWatch {
  private watched: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isSettling = false;
  private stopped = false;

  /** @param onChange called once for changes that come together. */
  constructor(private readonly onChange: () => void) {}

  /** Watches these files, and no longer others. A file need not exist. */
  follow(files: readonly string[]): void {
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

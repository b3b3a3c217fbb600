/**
 * Detects changed files by polling. Checks files by name, so it also detects replaced files and changed symbolic links
 * (as in Kubernetes). A file that cannot be accessed counts as missing.
 */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const CHECK_INTERVAL_MS = 1_000;
/**
 * Time in ms without changes before `onChange` is called. Programs rarely write several files at the same instant, or a
 * large file in one piece.
 */
const SETTLE_MS = 250;
/** Maximum number of pauses of `settleMs`, for files that never stop changing. */
const MAX_PAUSES = 20;

/** State of a file that the watch has not checked yet. */
const UNSEEN = 'unseen';
/** State of a file that was written after the caller had begun to read the file. */
const OUTDATED = 'outdated';

/** FileWatch calls `onChange` when one of its files changes, appears or disappears. */
export class FileWatch {
  /** Last known state of each file, by name. */
  private readonly known = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private isChecking = false;

  /**
   * Starts no checks before the first call of `watchFiles`.
   * @param onChange called once for several changes close together
   * @param checkIntervalMs time between two checks, in ms
   * @param settleMs time without changes before `onChange` is called, in ms
   */
  constructor(
    private readonly onChange: () => void,
    private readonly checkIntervalMs = CHECK_INTERVAL_MS,
    private readonly settleMs = SETTLE_MS,
  ) {}

  /**
   * Watches these files instead of the previous files. The files need not exist.
   * @param readSinceMs time at which the caller began to read new files, in milliseconds since the epoch. Files that
   * were written later count as changed. Without this time, the current state counts as read.
   * @returns resolves when the current states are known, so that later changes are detected; never rejects
   */
  watchFiles(files: readonly string[], readSinceMs = Infinity): Promise<void> {
    for (const name of this.known.keys()) if (!files.includes(name)) this.known.delete(name);
    const added = files.filter((name) => !this.known.has(name));
    for (const name of added) this.known.set(name, UNSEEN);
    this.timer ??= setInterval(() => void this.checkFiles(), this.checkIntervalMs).unref();
    return this.recordStates(added, readSinceMs);
  }

  stop(): void {
    clearInterval(this.timer);
    this.known.clear();
  }

  private async recordStates(added: readonly string[], readSinceMs: number): Promise<void> {
    const states = await statesOf(added);
    for (const [name, { version, writtenMs }] of states) {
      if (this.known.get(name) === UNSEEN) this.known.set(name, writtenMs > readSinceMs ? OUTDATED : version);
    }
  }

  private async checkFiles(): Promise<void> {
    // The previous check is still waiting until the changes have settled.
    if (this.isChecking) return;
    this.isChecking = true;
    const states = await statesOf([...this.known.keys()]);
    if (this.hasChanges(states)) await this.settle(states);
    this.isChecking = false;
  }

  private hasChanges(states: FileStates): boolean {
    return [...states].some(([name, { version }]) => ![undefined, UNSEEN, version].includes(this.known.get(name)));
  }

  /**
   * Waits until the files no longer change, or for `MAX_PAUSES` pauses. Calls `onChange` afterward, unless the watch
   * has stopped.
   */
  private async settle(first: FileStates): Promise<void> {
    let states = first;
    for (let pausesLeft = MAX_PAUSES; pausesLeft > 0; pausesLeft--) {
      await sleep(this.settleMs, undefined, { ref: false });
      const now = await statesOf([...this.known.keys()]);
      const isUnchanged = [...now].every(([name, { version }]) => version === states.get(name)?.version);
      states = now;
      if (isUnchanged) break;
    }
    // The watch was stopped during the pauses.
    if (this.known.size === 0) return;
    for (const [name, { version }] of states) if (this.known.has(name)) this.known.set(name, version);
    this.onChange();
  }
}

interface FileState {
  /** Inode, size and modification time as a text. It changes whenever the file is written or replaced. */
  readonly version: string;
  /** Modification time in milliseconds since the epoch; 0 if the file does not exist. */
  readonly writtenMs: number;
}

type FileStates = ReadonlyMap<string, FileState>;

async function statesOf(files: readonly string[]): Promise<FileStates> {
  const states = files.map(async (file): Promise<[string, FileState]> => {
    try {
      const { ino, size, mtimeMs } = await stat(file);
      return [file, { version: `${ino} ${size} ${mtimeMs}`, writtenMs: mtimeMs }];
    } catch {
      return [file, { version: 'none', writtenMs: 0 }];
    }
  });
  return new Map(await Promise.all(states));
}

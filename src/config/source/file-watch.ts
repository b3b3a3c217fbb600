/**
 * Detects changed files by polling. Files are checked by name, so replaced files and symbolic links (Kubernetes) count
 * too.
 */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const CHECK_INTERVAL_MS = 1_000;
/**
 * Time without changes before `onChange` is called. Several files are rarely written at once, and one rarely in one
 * piece.
 */
const SETTLE_MS = 250;
/** Limits the wait for files that never stop changing. */
const MOST_PAUSES = 20;

/** State of a file that was not checked yet. */
const UNSEEN = 'unseen';
/** State of a file that changed while it was read. */
const OUTDATED = 'outdated';

export class FileWatch {
  /** State of each file when it was read. */
  private readonly known = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  /**
   * @param onChange called once for changes close together
   * @param checkIntervalMs time between two checks
   * @param settleMs time without changes to wait for
   */
  constructor(
    private readonly onChange: () => void,
    private readonly checkIntervalMs = CHECK_INTERVAL_MS,
    private readonly settleMs = SETTLE_MS,
  ) {}

  /**
   * Watches these files instead of the previous ones. They need not exist.
   * @param readSinceMs when the caller began to read new files, in milliseconds since the epoch. Files written later
   * count as changed. Without it, the current state counts as read.
   * @returns resolves once later changes are detected; never rejects
   */
  follow(files: readonly string[], readSinceMs = Infinity): Promise<void> {
    for (const name of this.known.keys()) if (!files.includes(name)) this.known.delete(name);
    const added = files.filter((name) => !this.known.has(name));
    for (const name of added) this.known.set(name, UNSEEN);
    this.timer ??= setInterval(() => void this.checkFiles(), this.checkIntervalMs).unref();
    return this.learn(added, readSinceMs);
  }

  stop(): void {
    clearInterval(this.timer);
    this.known.clear();
  }

  private async learn(added: readonly string[], readSinceMs: number): Promise<void> {
    const states = await statesOf(added);
    for (const [name, { text, writtenMs }] of states) {
      if (this.known.get(name) === UNSEEN) this.known.set(name, writtenMs > readSinceMs ? OUTDATED : text);
    }
  }

  private async checkFiles(): Promise<void> {
    // A previous check is still waiting for changes to settle.
    if (this.isLooking) return;
    this.isLooking = true;
    const states = await statesOf([...this.known.keys()]);
    if (this.differs(states)) await this.settle(states);
    this.isLooking = false;
  }

  private differs(states: FileStates): boolean {
    return [...states].some(([name, { text }]) => ![undefined, UNSEEN, text].includes(this.known.get(name)));
  }

  /** Waits until the files have not changed for a while. */
  private async settle(first: FileStates): Promise<void> {
    let states = first;
    for (let pausesLeft = MOST_PAUSES; pausesLeft > 0; pausesLeft--) {
      await sleep(this.settleMs, undefined, { ref: false });
      const now = await statesOf([...this.known.keys()]);
      const isStill = [...now].every(([name, { text }]) => text === states.get(name)?.text);
      states = now;
      if (isStill) break;
    }
    // Stopped in the meantime.
    if (this.known.size === 0) return;
    for (const [name, { text }] of states) if (this.known.has(name)) this.known.set(name, text);
    this.onChange();
  }
}

interface FileState {
  /** Differs for every different state. */
  readonly text: string;
  readonly writtenMs: number;
}

type FileStates = ReadonlyMap<string, FileState>;

async function statesOf(files: readonly string[]): Promise<FileStates> {
  const states = files.map(async (file): Promise<[string, FileState]> => {
    try {
      const { ino, size, mtimeMs } = await stat(file);
      return [file, { text: `${ino} ${size} ${mtimeMs}`, writtenMs: mtimeMs }];
    } catch {
      return [file, { text: 'none', writtenMs: 0 }];
    }
  });
  return new Map(await Promise.all(states));
}

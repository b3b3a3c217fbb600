/**
 * Notices that files have changed since they were read. They are looked at by name, so that one that was put in the
 * place of another counts, also behind a link as in Kubernetes.
 */
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const CHECK_INTERVAL_MS = 1_000;
/**
 * Several files are seldom written at the same instant, and one seldom in one piece:
 * they must stand still for this long.
 */
const SETTLE_MS = 250;
/** What never stands still is read as it is. */
const MOST_PAUSES = 20;

/** Of a file that nobody has looked at yet. */
const UNSEEN = 'unseen';
/** Of a file that changed while it was read: it is another one now. */
const OUTDATED = 'outdated';

export class FileWatch {
  /** How each was when it was read: a file that is otherwise has changed. */
  private readonly known = new Map<string, string>();
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  /**
   * @param onChange called once for changes that come together.
   * @param checkIntervalMs between two looks at the files.
   * @param settleMs how long changed files must stand still.
   */
  constructor(
    private readonly onChange: () => void,
    private readonly checkIntervalMs = CHECK_INTERVAL_MS,
    private readonly settleMs = SETTLE_MS,
  ) {}

  /**
   * Watches these files, and no longer others. A file need not exist.
   * @param readSinceMs when whoever read those that are new here began to, milliseconds since the epoch: one that was
   * written later has changed. Without it they are as they are now.
   * @returns resolves when what changes from now on is noticed. Never rejects.
   */
  follow(files: readonly string[], readSinceMs = Infinity): Promise<void> {
    for (const name of this.known.keys()) if (!files.includes(name)) this.known.delete(name);
    const added = files.filter((name) => !this.known.has(name));
    for (const name of added) this.known.set(name, UNSEEN);
    this.timer ??= setInterval(() => void this.look(), this.checkIntervalMs).unref();
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

  private async look(): Promise<void> {
    // Whoever waits for them to stand still looks already.
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
    // Stopped meanwhile.
    if (this.known.size === 0) return;
    for (const [name, { text }] of states) if (this.known.has(name)) this.known.set(name, text);
    this.onChange();
  }
}

interface FileState {
  /** Another one for every other state. */
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

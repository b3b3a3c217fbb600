/**
 * Signals after a commit that webhook endpoints have work to do or were changed. Workers of this process are called
 * directly, and those of others through a sender. A lost signal only causes a delay, because workers scan as well.
 *
 * A message consists of words: `@` with the sender's ID, then endpoint IDs. Changed endpoints appear a second time with
 * a `!` in front. Older versions read the extra words as unknown endpoints.
 */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';

export const WORK_CHANNEL = 'trailgate_webhooks';

/** Signaled endpoints. `all` if there are too many to list. */
export type ToldEndpoints = readonly string[] | 'all';

/**
 * Receives the endpoints with work to do, and those of them that were changed. With `all`, any endpoint may have been
 * changed.
 */
export type WorkFollower = (endpointIds: ToldEndpoints, changed: readonly string[]) => void;

/** Sends a message to other processes. Must not throw. */
export type WorkSender = (message: string) => void;

const ALL = 'all';
const SENDER = '@';
const CHANGED = '!';
/** PostgreSQL limits notifications to less than 8,000 bytes. */
const LONGEST_MESSAGE = 7_500;
/** Minimum time between two messages of a process. */
const PAUSE_MS = 10;

export class WorkSignal {
  private readonly sender = SENDER + randomUUID();
  private readonly followers = new Set<WorkFollower>();
  private waiting = new Set<string>();
  private changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: WorkSender = () => undefined) {}

  /** Signals endpoints with work to do, at once or within a few milliseconds. Call it after the commit. */
  tell(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.waiting.add(id);
    if (this.waiting.size > 0 && this.timer === undefined) this.sendNow();
  }

  /** Signals endpoints that were changed, so that workers read them again. Call it after the commit. */
  tellChanged(endpointIds: readonly string[]): void {
    for (const id of endpointIds) this.changed.add(id);
    this.tell(endpointIds);
  }

  /** Passes a message from another process to the followers in this one. Ignores the process's own messages. */
  hear(message: string): void {
    if (message === ALL) return this.notifyFollowers(ALL, []);
    const words = message.split(' ');
    const [sender = ''] = words;
    if (sender === this.sender) return;
    // Older versions do not tell which endpoints were changed.
    if (!sender.startsWith(SENDER)) return this.notifyFollowers(words, words);
    const endpointIds = words.slice(1).filter((word) => !word.startsWith(CHANGED));
    const changed = words.filter((word) => word.startsWith(CHANGED)).map((word) => word.slice(CHANGED.length));
    this.notifyFollowers(endpointIds, changed);
  }

  /**
   * Calls a follower for every signal from now on.
   * @returns a function that ends this.
   */
  follow(follower: WorkFollower): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  private sendNow(): void {
    const [endpointIds, changed] = [[...this.waiting], [...this.changed]];
    this.waiting = new Set();
    this.changed = new Set();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.tell([]);
    }, PAUSE_MS);
    this.timer.unref();
    const message = [this.sender, ...endpointIds, ...changed.map((id) => CHANGED + id)].join(' ');
    const isLong = message.length > LONGEST_MESSAGE;
    this.notifyFollowers(endpointIds, changed);
    this.send(isLong ? ALL : message);
  }

  private notifyFollowers(endpointIds: ToldEndpoints, changed: readonly string[]): void {
    for (const follower of this.followers) follower(endpointIds, changed);
  }
}

/** Returns a sender that uses PostgreSQL notifications. */
export function notifyBy(db: Kysely<Tables>): WorkSender {
  return (message) => {
    // Lost if the database is down. Listeners check all endpoints when it is back.
    notifyWork(db, message).catch(() => undefined);
  };
}

/**
 * Sends a notification. Must be called outside of transactions: inside, `notify` makes commits wait for each other (651
 * → 419 commits per second with ten writers).
 */
export async function notifyWork(db: Kysely<Tables>, message: string): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, ${message})`.execute(db);
}

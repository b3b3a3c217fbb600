/**
 * Signals to webhook workers, after a commit, that endpoints have work to do or were changed. Workers in this process
 * are called directly. Workers in other processes get a message through a sender. A lost message only causes a delay,
 * because workers also scan the database.
 *
 * A message consists of words: `@` with the sender's ID, then endpoint IDs. Changed endpoints appear a second time with
 * the prefix `!`. Older versions treat the prefixed words as unknown endpoints.
 */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';

/** Channel of the notifications in PostgreSQL. */
export const WORK_CHANNEL = 'trailgate_webhooks';

/** IDs of the signaled endpoints; `all` if there are too many to list. */
export type SignaledEndpoints = readonly string[] | 'all';

/**
 * Receives the endpoints with work to do, and those of them that were changed. With `all`, any endpoint may have
 * changed.
 */
export type WorkFollower = (endpointIds: SignaledEndpoints, changed: readonly string[]) => void;

/** Sends a message to other processes. Must not throw. */
export type WorkSender = (message: string) => void;

/** Message that signals all endpoints. */
const ALL = 'all';
/** Prefix of the sender's ID, and prefix of a changed endpoint's ID. */
const SENDER = '@';
const CHANGED = '!';
/** PostgreSQL limits notifications to less than 8,000 bytes. */
const LONGEST_MESSAGE = 7_500;
/** Minimum time between two messages of a process. Signals in between are sent together. */
const PAUSE_MS = 10;

/** WorkSignal passes signals from the code that adds work to the workers of this and other processes. */
export class WorkSignal {
  private readonly sender = SENDER + randomUUID();
  private readonly followers = new Set<WorkFollower>();
  private pending = new Set<string>();
  private changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: WorkSender = () => undefined) {}

  /** Signals endpoints with work to do, immediately or within 10 ms. Call it after the commit. */
  tell(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.pending.add(id);
    if (this.pending.size > 0 && this.timer === undefined) this.sendNow();
  }

  /** Signals endpoints that were changed, so that workers read them again. Call it after the commit. */
  tellChanged(endpointIds: readonly string[]): void {
    for (const id of endpointIds) this.changed.add(id);
    this.tell(endpointIds);
  }

  /** Passes a message from another process to the followers in this process. Ignores this process's own messages. */
  receive(message: string): void {
    if (message === ALL) return this.notifyFollowers(ALL, []);
    const words = message.split(' ');
    const [sender = ''] = words;
    if (sender === this.sender) return;
    // Older versions do not say which endpoints changed. Treat all of them as changed.
    if (!sender.startsWith(SENDER)) return this.notifyFollowers(words, words);
    const endpointIds = words.slice(1).filter((word) => !word.startsWith(CHANGED));
    const changed = words.filter((word) => word.startsWith(CHANGED)).map((word) => word.slice(CHANGED.length));
    this.notifyFollowers(endpointIds, changed);
  }

  /**
   * Calls a follower for every signal from now on.
   * @returns a function that removes the follower.
   */
  follow(follower: WorkFollower): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  private sendNow(): void {
    const [endpointIds, changed] = [[...this.pending], [...this.changed]];
    this.pending = new Set();
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

  private notifyFollowers(endpointIds: SignaledEndpoints, changed: readonly string[]): void {
    for (const follower of this.followers) follower(endpointIds, changed);
  }
}

/** Returns a sender that uses PostgreSQL notifications. */
export function notifyBy(db: Kysely<Tables>): WorkSender {
  return (message) => {
    // The message is lost if the database is unavailable. Listeners check all endpoints when they can connect again.
    notifyWork(db, message).catch(() => undefined);
  };
}

/**
 * Sends a notification through PostgreSQL. Call it outside of transactions. Inside, `notify` makes commits wait for
 * each other: with ten writers, 419 commits per second instead of 651.
 */
export async function notifyWork(db: Kysely<Tables>, message: string): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, ${message})`.execute(db);
}

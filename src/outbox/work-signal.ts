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

/** PostgreSQL channel on which processes notify each other of work. */
export const WORK_CHANNEL = 'trailgate_webhooks';

/** SignaledEndpoints holds the IDs of the signaled endpoints, or `all` if a message is too short to list them. */
export type SignaledEndpoints = readonly string[] | 'all';

/**
 * WorkFollower receives the endpoints with work to do. `changed` lists the endpoints among them that were changed. With
 * `all`, any endpoint may have been changed.
 */
export type WorkFollower = (endpointIds: SignaledEndpoints, changed: readonly string[]) => void;

/** WorkSender sends a message to other processes. It must not throw. */
export type WorkSender = (message: string) => void;

/** Message that signals all endpoints. */
const ALL = 'all';
/** Prefix of the sender's ID, and prefix of a changed endpoint's ID. */
const SENDER = '@';
const CHANGED = '!';
/** Maximum length of a message, in characters. PostgreSQL limits notifications to less than 8,000 bytes. */
const LONGEST_MESSAGE = 7_500;
/** Minimum time between two messages of a process. Signals during this time are sent together. */
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
  signalEndpoints(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.pending.add(id);
    if (this.pending.size > 0 && this.timer === undefined) this.sendNow();
  }

  /** Signals endpoints that were changed, so that workers read them again. Call it after the commit. */
  tellChanged(endpointIds: readonly string[]): void {
    for (const id of endpointIds) this.changed.add(id);
    this.signalEndpoints(endpointIds);
  }

  /**
   * Passes a message from another process to the followers in this process. Ignores this process's own messages, except
   * `all`, which does not name its sender.
   */
  receiveMessage(message: string): void {
    if (message === ALL) return this.notifyFollowers(ALL, []);
    const words = message.split(' ');
    const [sender = ''] = words;
    if (sender === this.sender) return;
    // Older versions do not report which endpoints changed. Treat all endpoints of the message as changed.
    if (!sender.startsWith(SENDER)) return this.notifyFollowers(words, words);
    const endpointIds = words.slice(1).filter((word) => !word.startsWith(CHANGED));
    const changed = words.filter((word) => word.startsWith(CHANGED)).map((word) => word.slice(CHANGED.length));
    this.notifyFollowers(endpointIds, changed);
  }

  /**
   * Calls a follower for every signal from now on.
   * @returns a function that removes the follower.
   */
  addFollower(follower: WorkFollower): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  private sendNow(): void {
    const [endpointIds, changed] = [[...this.pending], [...this.changed]];
    this.pending = new Set();
    this.changed = new Set();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.signalEndpoints([]);
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
    // The message is lost if the database is unavailable. Listeners check all endpoints when they have connected again.
    notifyWork(db, message).catch(() => undefined);
  };
}

/**
 * Sends a notification through PostgreSQL. Call it outside of transactions. Inside a transaction, `notify` makes
 * commits wait for each other. A measurement with ten writers showed 419 commits per second instead of 651.
 */
export async function notifyWork(db: Kysely<Tables>, message: string): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, ${message})`.execute(db);
}

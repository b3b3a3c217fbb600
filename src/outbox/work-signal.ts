/**
 * Says behind a commit that webhook endpoints have something to do, or are no longer what they were, so that a worker
 * looks at once: in this process, and through a sender in others. What is lost on the way costs time only: the scan
 * finds it.
 *
 * A message to others is words: `@` and the sender, then endpoints, and those that were changed once more behind a `!`.
 * Processes of a version before that take such words for endpoints which they do not know.
 */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';

/** The channel of PostgreSQL's notifications. */
export const WORK_CHANNEL = 'trailgate_webhooks';

/** Which endpoints; `all` where they are too many to be named. */
export type ToldEndpoints = readonly string[] | 'all';

/**
 * Is told which endpoints have something to do, and which of them were changed themselves. `all` may all have been
 * changed.
 */
export type WorkFollower = (told: ToldEndpoints, changed: readonly string[]) => void;

/** Hands a message to other processes. Never throws. */
export type WorkSender = (message: string) => void;

const ALL = 'all';
const SENDER = '@';
const CHANGED = '!';
/** A notification of PostgreSQL holds less than 8,000 bytes. */
const LONGEST_MESSAGE = 7_500;
/** A process says no more than one thing in so long. */
const PAUSE_MS = 10;

/** WorkSignal gathers what there is to tell, and tells it. */
export class WorkSignal {
  private readonly sender = SENDER + randomUUID();
  private readonly followers = new Set<WorkFollower>();
  private waiting = new Set<string>();
  private changed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: WorkSender = () => undefined) {}

  /** Tells of endpoints with something to do, at once or within a few milliseconds. Call it behind the commit. */
  tell(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.waiting.add(id);
    if (this.waiting.size > 0 && this.timer === undefined) this.tellNow();
  }

  /** Tells of endpoints that were changed themselves: who works on them is to read them anew. As `tell`. */
  tellChanged(endpointIds: readonly string[]): void {
    for (const id of endpointIds) this.changed.add(id);
    this.tell(endpointIds);
  }

  /** What a process has said: told in this one, and not sent on. Its own words it has told already. */
  hear(message: string): void {
    if (message === ALL) return this.toFollowers(ALL, []);
    const words = message.split(' ');
    const [sender = ''] = words;
    if (sender === this.sender) return;
    // Those of a version before do not say which were changed.
    if (!sender.startsWith(SENDER)) return this.toFollowers(words, words);
    const told = words.slice(1).filter((word) => !word.startsWith(CHANGED));
    const changed = words.filter((word) => word.startsWith(CHANGED)).map((word) => word.slice(CHANGED.length));
    this.toFollowers(told, changed);
  }

  /** Calls a follower with all that is told from now on. @returns what ends that. */
  follow(follower: WorkFollower): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  private tellNow(): void {
    const [told, changed] = [[...this.waiting], [...this.changed]];
    this.waiting = new Set();
    this.changed = new Set();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.tell([]);
    }, PAUSE_MS);
    this.timer.unref();
    const message = [this.sender, ...told, ...changed.map((id) => CHANGED + id)].join(' ');
    const isLong = message.length > LONGEST_MESSAGE;
    this.toFollowers(told, changed);
    this.send(isLong ? ALL : message);
  }

  private toFollowers(told: ToldEndpoints, changed: readonly string[]): void {
    for (const follower of this.followers) follower(told, changed);
  }
}

/** Sends by PostgreSQL. */
export function notifyBy(db: Kysely<Tables>): WorkSender {
  return (message) => {
    // Lost with the database: whoever listens looks at all when it is back.
    notifyWork(db, message).catch(() => undefined);
  };
}

/**
 * Notifies the channel. Call it outside of every transaction: inside, `notify` makes commits wait for each other
 * (651 → 419 a second with ten writers).
 */
export async function notifyWork(db: Kysely<Tables>, message: string): Promise<void> {
  await sql`select pg_notify(${WORK_CHANNEL}, ${message})`.execute(db);
}

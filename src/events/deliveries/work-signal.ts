/**
 * Says behind a commit that webhook endpoints have something to do, so that a worker looks at once: in this process,
 * and through a sender in others. What is lost on the way costs time only: the scan finds it.
 */
import { sql, type Kysely } from 'kysely';
import type { Tables } from '../../database/schema.js';

/** The channel of PostgreSQL's notifications. */
export const WORK_CHANNEL = 'trailgate_webhooks';

/** Which endpoints; `all` where they are too many to be named. */
export type ToldEndpoints = readonly string[] | 'all';

/** Hands a message to other processes. Never throws. */
export type WorkSender = (message: string) => void;

const ALL = 'all';
/** A notification of PostgreSQL holds less than 8,000 bytes. */
const LONGEST_MESSAGE = 7_500;
/** A process says no more than one thing in so long. */
const PAUSE_MS = 10;

/** WorkSignal gathers what there is to tell, and tells it. */
export class WorkSignal {
  private readonly followers = new Set<(told: ToldEndpoints) => void>();
  private waiting = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: WorkSender = () => undefined) {}

  /** Tells of endpoints; at once, or with others within a few milliseconds. Call it behind the commit. */
  tell(endpointIds: Iterable<string>): void {
    for (const id of endpointIds) this.waiting.add(id);
    if (this.waiting.size > 0 && this.timer === undefined) this.tellNow();
  }

  /** What another process has said: told in this one, and not sent on. */
  hear(message: string): void {
    this.toFollowers(message === ALL ? ALL : message.split(' '));
  }

  /** Calls a follower with all that is told from now on. @returns what ends that. */
  follow(follower: (told: ToldEndpoints) => void): () => void {
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  private tellNow(): void {
    const told = [...this.waiting];
    this.waiting = new Set();
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.tell([]);
    }, PAUSE_MS);
    this.timer.unref();
    const message = told.join(' ');
    const isLong = message.length > LONGEST_MESSAGE;
    this.toFollowers(isLong ? ALL : told);
    this.send(isLong ? ALL : message);
  }

  private toFollowers(told: ToldEndpoints): void {
    for (const follower of this.followers) follower(told);
  }
}

/**
 * Sends by PostgreSQL, outside of every transaction: inside, `notify` makes commits wait for each other (651 → 419 a
 * second with ten writers).
 */
export function notifyBy(db: Kysely<Tables>): WorkSender {
  return (message) => {
    const notify = sql`select pg_notify(${WORK_CHANNEL}, ${message})`;
    // Lost with the database: whoever listens looks at all when it is back.
    notify.execute(db).catch(() => undefined);
  };
}

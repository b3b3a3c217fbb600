/**
 * Sends events from the outbox to the gateway, in order, with retries. An event leaves the outbox once the gateway has
 * stored it. The gateway deduplicates events by ID.
 */
import type { Logger } from 'pino';
import type { EventsConfig } from '../model/config.js';
import type { Outbox, WaitingEvent } from './outbox.js';

const MOST_EVENTS = 100;
/** Below the gateway's limit, with room for the rest of the request. */
const MOST_DATA_BYTES = 768 * 1_024;
const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** Interval to look for events of other processes. Local changes wake the loop. */
const IDLE_PAUSE_MS = 5_000;
/** Statuses of permanent rejections. Others are retried. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const ACCEPTED = 202;

/** EventPoster runs the loop that empties the outbox. */
export class EventPoster {
  private readonly ending = new AbortController();
  private failures = 0;
  private isWoken = false;
  private endPause: () => void = () => undefined;
  private readonly ended: Promise<void>;

  constructor(
    private readonly outbox: Outbox,
    private readonly gateway: EventsConfig,
    private readonly log: Logger,
  ) {
    outbox.listen(() => this.wake());
    this.ended = this.run();
  }

  /** Aborts the current request. Its events are sent after the next start. */
  async close(): Promise<void> {
    this.ending.abort();
    this.endPause();
    await this.ended;
  }

  private wake(): void {
    this.isWoken = true;
    // During failures the retry delay applies, however many events arrive.
    if (this.failures === 0) this.endPause();
  }

  private async run(): Promise<void> {
    while (!this.ending.signal.aborted) {
      this.isWoken = false;
      let sent = 0;
      try {
        sent = await this.sendOldest();
        if (this.failures > 0) this.log.info('The gateway takes events in again.');
        this.failures = 0;
      } catch (error) {
        if (this.ending.signal.aborted) return;
        if (this.failures === 0) this.log.warn({ err: error }, 'Events wait: the gateway did not take them in.');
        this.failures += 1;
      }
      if (sent === 0) await this.pause();
    }
  }

  /** Returns the number of events sent or set aside. Rejects if they must be retried. */
  private async sendOldest(): Promise<number> {
    const events = withinBytes(await this.outbox.oldest(MOST_EVENTS));
    if (events.length === 0) return 0;
    if (!(await this.wereTaken(events))) {
      // The gateway accepts all or none. Send them one by one, so that a rejected event does not block the others.
      for (const event of events) await this.sendAlone(event);
    }
    return events.length;
  }

  private async sendAlone(event: WaitingEvent): Promise<void> {
    if (await this.wereTaken([event])) return;
    await this.outbox.putAside(event);
  }

  /** Returns false if the gateway rejects them permanently. */
  private async wereTaken(events: readonly WaitingEvent[]): Promise<boolean> {
    const { status, text } = await this.post(events);
    if (status === ACCEPTED) {
      await this.outbox.remove(events);
      return true;
    }
    if (!REFUSALS.has(status)) throw new Error(`The gateway says ${status}: ${text}`);
    const [first] = events;
    if (events.length === 1) {
      // Without the event's data, which is personal.
      const about = { event_id: first?.event_id, type: first?.type, account_id: first?.account_id };
      this.log.error({ ...about, status, reason: text }, 'The gateway refuses an event; it was put aside.');
    }
    return false;
  }

  private async post(events: readonly WaitingEvent[]): Promise<{ status: number; text: string }> {
    const response = await fetch(this.gateway.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.gateway.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: events.map(toHandIn) }),
      redirect: 'error',
      signal: AbortSignal.any([this.ending.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    return { status: response.status, text: (await response.text()).slice(0, 500) };
  }

  private async pause(): Promise<void> {
    if (this.isWoken && this.failures === 0) return;
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.failures - 1));
    const pauseMs = this.failures === 0 ? IDLE_PAUSE_MS : longest * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.ending.signal.aborted) this.endPause();
    });
  }
}

/** Returns as many events from the start as fit into a request, at least one. */
function withinBytes(events: readonly WaitingEvent[]): readonly WaitingEvent[] {
  let bytes = 0;
  const end = events.findIndex(({ data }, index) => {
    bytes += Buffer.byteLength(data);
    return index > 0 && bytes > MOST_DATA_BYTES;
  });
  return end === -1 ? events : events.slice(0, end);
}

function toHandIn({ event_id, type, account_id, resource, data, occurred_at }: WaitingEvent): Record<string, unknown> {
  const timestamp = new Date(occurred_at).toISOString();
  return { id: event_id, type, account_id, resource, data: JSON.parse(data) as unknown, timestamp };
}

/**
 * Hands the events of the outbox in to the gateway, in their order and as often as it takes: an event leaves the outbox
 * when the gateway says that it stands in its database. The same event twice is one there, by its id.
 */
import type { Logger } from 'pino';
import type { EventsConfig } from '../model/config.js';
import type { Outbox, WaitingEvent } from './outbox.js';

const MOST_EVENTS = 100;
/** Less than the gateway takes, and room for the rest of the request. */
const MOST_DATA_BYTES = 768 * 1_024;
const REQUEST_TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** For what another process has left behind; our own changes wake us. */
const IDLE_PAUSE_MS = 5_000;
/** The gateway will never take in what it has said this of; all else may be otherwise the next time. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const ACCEPTED = 202;

/** EventPoster is the one loop of a process that empties the outbox. */
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

  /** Ends the request that is under way, whose events then wait for the next start. */
  async close(): Promise<void> {
    this.ending.abort();
    this.endPause();
    await this.ended;
  }

  private wake(): void {
    this.isWoken = true;
    // A gateway that is away is asked at its own pace, however much happens.
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

  /** Returns how many were dealt with. Rejects where they have to be sent again. */
  private async sendOldest(): Promise<number> {
    const events = withinBytes(await this.outbox.oldest(MOST_EVENTS));
    if (events.length === 0) return 0;
    if (!(await this.wereTaken(events))) {
      // All or none is taken in: one that is refused must not hold the others up.
      for (const event of events) await this.sendAlone(event);
    }
    return events.length;
  }

  private async sendAlone(event: WaitingEvent): Promise<void> {
    if (await this.wereTaken([event])) return;
    await this.outbox.putAside(event);
  }

  /** Returns false where the gateway refuses them for good. */
  private async wereTaken(events: readonly WaitingEvent[]): Promise<boolean> {
    const { status, text } = await this.post(events);
    if (status === ACCEPTED) {
      await this.outbox.remove(events);
      return true;
    }
    if (!REFUSALS.has(status)) throw new Error(`The gateway says ${status}: ${text}`);
    const [first] = events;
    if (events.length === 1) {
      // Without its data, which is personal.
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

/** The first of them, as many as fit into a request; at least one. */
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

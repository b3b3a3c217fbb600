/**
 * Sends the events of the outbox to the gateway, in order and with retries. Removes an event from the outbox after the
 * gateway has stored it. The gateway ignores an event whose ID it has already received, so a retry does no harm.
 */
import type { Logger } from 'pino';
import type { EventsConfig } from '../model/config.js';
import type { Outbox, WaitingEvent } from './outbox.js';

/** Maximum number of events in a request. */
const MAX_EVENTS = 100;
/**
 * Maximum size of the data of all events in a request, in bytes. The gateway's limit is higher, to allow for other
 * fields.
 */
const MAX_DATA_BYTES = 768 * 1_024;
const REQUEST_TIMEOUT_MS = 10_000;
/** Pause after the first failure, in ms. The pause doubles with each further failure. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 30_000;
/**
 * Interval at which the loop checks for events of other processes. `wake` announces the events of this process at once.
 */
const IDLE_PAUSE_MS = 5_000;
/** Statuses with which the gateway permanently rejects events. The loop retries after any other error. */
const REJECTIONS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422]);
const ACCEPTED = 202;

/** EventPoster runs the loop that sends the events of the outbox. Creating an instance starts the loop. */
export class EventPoster {
  private readonly shutdown = new AbortController();
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

  /** Aborts the current request and waits for the end of the loop. The next start sends the remaining events. */
  async close(): Promise<void> {
    this.shutdown.abort();
    this.endPause();
    await this.ended;
  }

  private wake(): void {
    this.isWoken = true;
    // After a failure, do not shorten the retry delay when new events arrive.
    if (this.failures === 0) this.endPause();
  }

  private async run(): Promise<void> {
    while (!this.shutdown.signal.aborted) {
      this.isWoken = false;
      let sent = 0;
      try {
        sent = await this.sendOldest();
        if (this.failures > 0) this.log.info('The gateway accepts events again.');
        this.failures = 0;
      } catch (error) {
        if (this.shutdown.signal.aborted) return;
        if (this.failures === 0)
          this.log.warn({ err: error }, 'The gateway did not accept events; they are sent again.');
        this.failures += 1;
      }
      if (sent === 0) await this.pause();
    }
  }

  /**
   * Sends the oldest events. Returns the number of events that the gateway accepted or permanently rejected. Rejects if
   * the events must be sent again.
   */
  private async sendOldest(): Promise<number> {
    const events = withinBytes(await this.outbox.findOldest(MAX_EVENTS));
    if (events.length === 0) return 0;
    if (!(await this.trySend(events))) {
      // The gateway accepts all events of a request or none. Send the events one by one, so that a rejected event does
      // not block the others.
      for (const event of events) await this.sendAlone(event);
    }
    return events.length;
  }

  private async sendAlone(event: WaitingEvent): Promise<void> {
    if (await this.trySend([event])) return;
    await this.outbox.markRejected(event);
  }

  /**
   * Sends events and removes them from the outbox. Returns false if the gateway permanently rejects the request.
   * Rejects for any other error.
   */
  private async trySend(events: readonly WaitingEvent[]): Promise<boolean> {
    const { status, text } = await this.post(events);
    if (status === ACCEPTED) {
      await this.outbox.remove(events);
      return true;
    }
    if (!REJECTIONS.has(status)) throw new Error(`The gateway says ${status}: ${text}`);
    const [first] = events;
    if (events.length === 1) {
      // The data of an event is personal, so the log omits it.
      const about = { event_id: first?.event_id, type: first?.type, account_id: first?.account_id };
      this.log.error({ ...about, status, reason: text }, 'The gateway rejected an event; it is not sent again.');
    }
    return false;
  }

  private async post(events: readonly WaitingEvent[]): Promise<{ status: number; text: string }> {
    const response = await fetch(this.gateway.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.gateway.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events: events.map(toEvent) }),
      redirect: 'error',
      signal: AbortSignal.any([this.shutdown.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    return { status: response.status, text: (await response.text()).slice(0, 500) };
  }

  /**
   * Waits for the idle or retry pause. `close` ends any pause early, but `wake` does not end a retry pause. Retry
   * pauses are random and grow with each failure.
   */
  private async pause(): Promise<void> {
    if (this.isWoken && this.failures === 0) return;
    const retryPauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.failures - 1));
    const pauseMs = this.failures === 0 ? IDLE_PAUSE_MS : retryPauseMs * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.shutdown.signal.aborted) this.endPause();
    });
  }
}

/** Returns the first events whose data fits into one request. The first event is always included. */
function withinBytes(events: readonly WaitingEvent[]): readonly WaitingEvent[] {
  let bytes = 0;
  const end = events.findIndex(({ data }, index) => {
    bytes += Buffer.byteLength(data);
    return index > 0 && bytes > MAX_DATA_BYTES;
  });
  return end === -1 ? events : events.slice(0, end);
}

function toEvent({ event_id, type, account_id, resource, data, occurred_at }: WaitingEvent): Record<string, unknown> {
  const timestamp = new Date(occurred_at).toISOString();
  return { id: event_id, type, account_id, resource, data: JSON.parse(data) as unknown, timestamp };
}

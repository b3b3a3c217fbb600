/** Reads what events say when their attempts have places: those that begin at the same moment share a query. */
import type { EventPayload } from '../events/deliveries/due-deliveries.js';

/** Events of one query: each may have a quarter of a megabyte. */
const MOST_AT_ONCE = 64;

interface Waiting {
  readonly eventId: string;
  readonly resolve: (payload: EventPayload | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** PayloadReader gathers. */
export class PayloadReader {
  private waiting: Waiting[] = [];
  private isReading = false;

  constructor(private readonly read: (eventIds: readonly string[]) => Promise<ReadonlyMap<string, EventPayload>>) {}

  /** What the event says; undefined where it is not there any more. Rejects as the database does. */
  payload(eventId: string): Promise<EventPayload | undefined> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ eventId, resolve, reject });
      if (!this.isReading) void this.readWaiting();
    });
  }

  private async readWaiting(): Promise<void> {
    this.isReading = true;
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, MOST_AT_ONCE);
      try {
        const payloads = await this.read(batch.map(({ eventId }) => eventId));
        for (const { eventId, resolve } of batch) resolve(payloads.get(eventId));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isReading = false;
  }
}

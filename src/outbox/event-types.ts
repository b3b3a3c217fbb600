/** Events before they are in the outbox, and in it. */
import type { EventData, EventType } from './own-events.js';

/** An event of the gateway before it has an ID and a time. */
export interface NewEvent<Type extends EventType = EventType> {
  readonly type: Type;
  readonly accountId: string;
  readonly data: EventData[Type];
  /** Identifies what has happened. A second event with the same key is ignored. */
  readonly dedupeKey: string;
  /** Resource that the event is about. Ordered endpoints receive events in order per resource. */
  readonly resource?: string;
  /** Endpoint that does not receive the event, because the event is about it. */
  readonly exceptEndpointId?: string;
}

/** An event that a service has submitted, or that was emitted for a response. */
export interface ForeignEvent {
  readonly type: string;
  readonly accountId: string;
  /** JSON as it is delivered. */
  readonly dataText: string;
  readonly dedupeKey: string;
  /** Name of the service, or `emits`. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAtMs: number;
  /** Hash of the content. Null if the event cannot be submitted twice. */
  readonly fingerprint: string | null;
}

export interface Event {
  /** `evt_…`, sorted by time. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly data: unknown;
  /** `trailgate`, `emits`, or the name of a service. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAt: number;
  readonly createdAt: number;
}

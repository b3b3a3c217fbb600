/**
 * Defines the types of webhook events: events to be added to the outbox (`NewEvent`, `ForeignEvent`), and stored events
 * (`Event`).
 */
import type { EventData, EventType } from './own-events.js';

/** NewEvent is an event of the gateway itself. The outbox assigns its ID and time. */
export interface NewEvent<Type extends EventType = EventType> {
  readonly type: Type;
  readonly accountId: string;
  readonly data: EventData[Type];
  /** Identifies the occurrence that the event reports. The outbox ignores a second event with an equal key. */
  readonly dedupeKey: string;
  /** Resource that the event is about. Endpoints with ordered delivery receive a resource's events in order. */
  readonly resource?: string;
  /** Endpoint that does not receive the event, because the event is about this endpoint. */
  readonly exceptEndpointId?: string;
}

/** ForeignEvent is an event that a service submitted, or that the gateway emitted for a backend response. */
export interface ForeignEvent {
  readonly type: string;
  readonly accountId: string;
  /** The event's `data` as JSON text, which is delivered unchanged. */
  readonly dataText: string;
  readonly dedupeKey: string;
  /** Name of the service that submitted the event, or `emits` if the gateway emitted the event for a response. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAtMs: number;
  /**
   * Hash of the content, to detect a second submission with other content. Null if the event cannot be submitted twice.
   */
  readonly fingerprint: string | null;
}

/** Event is a stored event. Times are in milliseconds since the epoch. */
export interface Event {
  /** `evt_…`. IDs sort by creation time. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly data: unknown;
  /** `trailgate`, `emits`, `test`, or the name of a service. */
  readonly source: string;
  readonly resource: string | null;
  readonly occurredAt: number;
  readonly createdAt: number;
}

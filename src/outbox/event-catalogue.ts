/**
 * Lists the event types that webhook endpoints can subscribe to. The gateway defines some of them, and the
 * configuration defines the others.
 */
import type { EventType } from '../config/model/schema.js';
import { wantsType } from './fan-out.js';
import { OWN_EVENTS } from './own-events.js';

/** PublishedEventType is an event type with its documentation, as customers see it. */
export interface PublishedEventType {
  readonly type: string;
  readonly description: string | null;
  /** JSON Schema 2020-12 of `data`. Null if the configuration has none for this type. */
  readonly schema: object | null;
  readonly example: unknown;
  readonly source: 'gateway' | 'configuration';
}

/**
 * EventCatalogue lists event types. It reads the current configuration on each call, so a reload takes effect
 * immediately.
 */
export class EventCatalogue {
  constructor(private readonly configured: () => readonly EventType[]) {}

  /** Returns all types, sorted by name. The configuration cannot replace a type of the gateway. */
  listTypes(): readonly PublishedEventType[] {
    const own = Object.entries(OWN_EVENTS).map(([type, { description, example, schema }]): PublishedEventType => {
      return { type, description, schema, example, source: 'gateway' };
    });
    const configured = this.configured()
      .filter(({ name }) => !(name in OWN_EVENTS))
      .map(({ name: type, description, schema, example }): PublishedEventType => {
        return { type, description, schema, example, source: 'configuration' };
      });
    return [...own, ...configured].toSorted((one, other) => (one.type < other.type ? -1 : 1));
  }

  /** Returns the type with this name, or undefined if there is none. */
  type(name: string): PublishedEventType | undefined {
    return this.listTypes().find(({ type }) => type === name);
  }

  /** Reports whether any type matches a name, or a pattern such as `customer.*`. */
  hasType(pattern: string): boolean {
    return this.listTypes().some(({ type }) => wantsType([pattern], type));
  }
}

/** All event types: the gateway's own, and those of the current configuration. */
import type { EventType } from '../config/model/schema.js';
import { wantsType } from './fan-out.js';
import { OWN_EVENTS } from './own-events.js';

/** An event type, as shown to those who choose what to receive. */
export interface PublishedEventType {
  readonly type: string;
  readonly description: string | null;
  /** JSON Schema 2020-12 of `data`. Null if it is not specified. */
  readonly schema: object | null;
  readonly example: unknown;
  readonly source: 'gateway' | 'configuration';
}

/** EventCatalogue lists event types. It reads the current configuration on each call, so that reloads take effect. */
export class EventCatalogue {
  constructor(private readonly configured: () => readonly EventType[]) {}

  /** Returns all types, sorted by name. */
  types(): readonly PublishedEventType[] {
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

  type(name: string): PublishedEventType | undefined {
    return this.types().find(({ type }) => type === name);
  }

  /** Whether a name or a family such as `customer.*` matches any type. */
  knows(pattern: string): boolean {
    return this.types().some(({ type }) => wantsType([pattern], type));
  }
}

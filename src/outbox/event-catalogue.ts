/** The types of events that there are: the gateway's own, and those of the running configuration. */
import type { EventType } from '../config/model/schema.js';
import { wantsType } from './event-patterns.js';
import { OWN_EVENTS } from './own-events.js';

/** A type of event, as those see it who choose what to be told. */
export interface PublishedEventType {
  readonly type: string;
  readonly description: string | null;
  /** Of `data`, JSON Schema 2020-12; null where nobody says. */
  readonly schema: object | null;
  /** Of `data`. */
  readonly example: unknown;
  /** `gateway`, or `configuration`. */
  readonly source: 'gateway' | 'configuration';
}

/** EventCatalogue reads the configuration anew on each question, so that a reload is in force at once. */
export class EventCatalogue {
  constructor(private readonly configured: () => readonly EventType[]) {}

  /** All types by name. */
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

  /** A type by its name; undefined where there is none. */
  type(name: string): PublishedEventType | undefined {
    return this.types().find(({ type }) => type === name);
  }

  /** Whether a pattern, a name or `customer.*`, stands for any type. */
  knows(pattern: string): boolean {
    return this.types().some(({ type }) => wantsType([pattern], type));
  }
}

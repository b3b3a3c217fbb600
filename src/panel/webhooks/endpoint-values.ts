/** What is typed into the form of an endpoint, and what the API is sent of it. */
import type { Endpoint, EndpointChange, NewEndpoint } from './webhooks.js';

export interface EndpointValues {
  readonly url: string;
  readonly description: string;
  /** All types of events, also those that are to come. */
  readonly isAll: boolean;
  readonly eventTypes: readonly string[];
  readonly isOrdered: boolean;
}

export const EMPTY: EndpointValues = { url: '', description: '', isAll: true, eventTypes: [], isOrdered: false };

/** What an endpoint has now. */
export const valuesOf = (endpoint: Endpoint): EndpointValues => ({
  url: endpoint.url,
  description: endpoint.description,
  isAll: endpoint.event_types.length === 0,
  eventTypes: endpoint.event_types,
  isOrdered: endpoint.ordered,
});

/** Whether something is there to be sent: no choice at all would mean all types. */
export const isWhole = ({ url, isAll, eventTypes }: EndpointValues): boolean =>
  url.trim() !== '' && (isAll || eventTypes.length > 0);

/** The body that makes an endpoint. */
export const newEndpoint = ({ url, description, isAll, eventTypes, isOrdered }: EndpointValues) =>
  ({
    url: url.trim(),
    description: description.trim(),
    event_types: isAll ? [] : [...eventTypes],
    ordered: isOrdered,
  }) satisfies NewEndpoint;

/** The body that changes an endpoint: only what is different from what it was. */
export function changeOf(before: EndpointValues, after: EndpointValues): EndpointChange {
  const was = newEndpoint(before);
  const changed = Object.entries(newEndpoint(after)).filter(
    ([name, value]) => JSON.stringify(was[name as keyof typeof was]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed);
}

/** What an endpoint is now, with what was changed here on top of it: nothing that others changed is undone. */
export function onTopOf(now: EndpointValues, before: EndpointValues, mine: EndpointValues): EndpointValues {
  const changed = Object.entries(mine).filter(
    ([name, value]) => JSON.stringify(before[name as keyof EndpointValues]) !== JSON.stringify(value),
  );
  return { ...now, ...Object.fromEntries(changed) };
}

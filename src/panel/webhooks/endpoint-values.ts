/** Values of the form that creates or edits a webhook endpoint, and the request bodies built from the values. */
import { numberOf } from '../layout/number.js';
import { pauseText, secondsOf } from './pauses.js';
import type { Endpoint, EndpointChange, NewEndpoint } from './webhooks.js';

const MS_PER_SECOND = 1_000;

/** Values of the form. Numbers are texts as typed. An empty text means the default. */
export interface EndpointValues {
  readonly url: string;
  readonly description: string;
  /** Whether all event types are selected, including future ones. */
  readonly isAll: boolean;
  readonly eventTypes: readonly string[];
  readonly isOrdered: boolean;
  /** `usual` means the default schedule, `none` no retries, and `own` the custom schedule in `pauses`. */
  readonly retries: 'usual' | 'none' | 'own';
  /** Custom retry schedule: the delays between attempts as typed, such as `30s` or `5m`. */
  readonly pauses: readonly string[];
  readonly ratePerSecond: string;
  readonly concurrency: string;
  readonly timeoutSeconds: string;
}

export const EMPTY: EndpointValues = {
  url: '',
  description: '',
  isAll: true,
  eventTypes: [],
  isOrdered: false,
  retries: 'usual',
  pauses: [],
  ratePerSecond: '',
  concurrency: '',
  timeoutSeconds: '',
};

/** Returns the form values of an existing endpoint. */
export const valuesOf = (endpoint: Endpoint): EndpointValues => ({
  url: endpoint.url,
  description: endpoint.description,
  isAll: endpoint.event_types.length === 0,
  eventTypes: endpoint.event_types,
  isOrdered: endpoint.ordered,
  retries: endpoint.retry_schedule === null ? 'usual' : endpoint.retry_schedule.length === 0 ? 'none' : 'own',
  pauses: (endpoint.retry_schedule ?? []).map(pauseText),
  ratePerSecond: String(endpoint.rate_per_second ?? ''),
  concurrency: String(endpoint.concurrency ?? ''),
  timeoutSeconds: endpoint.timeout_ms === null ? '' : String(endpoint.timeout_ms / 1_000),
});

function millisecondsOf(seconds: string, locale: string): number | null {
  const value = numberOf(seconds, locale);
  return value === undefined ? null : Math.round(value * MS_PER_SECOND);
}

/** Returns the request body for a new endpoint. Null in a field means the default. */
export const newEndpoint = (values: EndpointValues, locale: string) =>
  ({
    url: values.url.trim(),
    description: values.description.trim(),
    event_types: values.isAll ? [] : [...values.eventTypes],
    ordered: values.isOrdered,
    retry_schedule: values.retries === 'usual' ? null : values.retries === 'none' ? [] : secondsOf(values.pauses),
    rate_per_second: numberOf(values.ratePerSecond, locale) ?? null,
    concurrency: numberOf(values.concurrency, locale) ?? null,
    timeout_ms: millisecondsOf(values.timeoutSeconds, locale),
  }) satisfies NewEndpoint;

/** Returns the request body for an edit. The body contains only the changed fields. */
export function changeOf(before: EndpointValues, after: EndpointValues, locale: string): EndpointChange {
  const was = newEndpoint(before, locale);
  const changed = Object.entries(newEndpoint(after, locale)).filter(
    ([name, value]) => JSON.stringify(was[name as keyof typeof was]) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed);
}

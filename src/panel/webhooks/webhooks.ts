/** Queries and changes of webhook endpoints and their deliveries. */
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap, unwrapVersioned, once, onlyIf } from '../api/client.js';
import { usePages, type PageQuery } from '../api/pages.js';
import { pollEvery } from '../api/polling.js';
import { queries } from '../api/queries.js';

type Rotation = components['schemas']['RotateWebhookSecret'];
export type Endpoint = components['schemas']['WebhookEndpoint'];
export type EndpointDetail = components['schemas']['WebhookEndpointDetail'];
export type EndpointStatus = Endpoint['status'];
export type NewEndpoint = components['schemas']['CreateWebhookEndpoint'];
export type EndpointChange = components['schemas']['UpdateWebhookEndpoint'];
export type Delivery = components['schemas']['WebhookDelivery'];
export type DeliveryDetail = components['schemas']['WebhookDeliveryDetail'];
export type DeliveryStatus = Delivery['status'];
export type Attempt = DeliveryDetail['attempt_log'][number];
export type EventType = components['schemas']['EventType'];
export type Replay = components['schemas']['ReplayWebhookDeliveries'];

/** Number of newest deliveries that the page polls. */
const NEWEST = 50;
/** Polling intervals, in milliseconds: short while a delivery is pending, long otherwise. */
const SOON_MS = 2_000;
const NOW_AND_THEN_MS = 15_000;

const listOf = (accountId: string) => ['account', accountId, 'webhook-endpoints'] as const;
const endpointOf = (id: string) => ['webhook-endpoint', id] as const;

/** Reads the endpoints of an account page by page. */
export const useEndpoints = (accountId: string) =>
  usePages(listOf(accountId), (query, signal) =>
    unwrap(
      api.GET('/admin/v1/accounts/{id}/webhook-endpoints', { params: { path: { id: accountId }, query }, signal }),
    ),
  );

/** Reads one endpoint with its version. */
export const useEndpoint = (id: string) =>
  useQuery({
    queryKey: endpointOf(id),
    queryFn: () => unwrapVersioned(api.GET('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } } })),
    refetchInterval: pollEvery(NOW_AND_THEN_MS),
  });

/** Reads the event types that an endpoint can subscribe to. */
export const useEventTypes = () =>
  useQuery({ queryKey: ['event-types'], queryFn: () => unwrap(api.GET('/admin/v1/event-types')), staleTime: 300_000 });

const askDeliveries = (id: string, status: DeliveryStatus | null, page: PageQuery, signal: AbortSignal) =>
  unwrap(
    api.GET('/admin/v1/webhook-endpoints/{id}/deliveries', {
      params: { path: { id }, query: { ...page, ...(status === null ? {} : { status }) } },
      signal,
    }),
  );

/** Reads the deliveries of an endpoint page by page, newest first. */
export const useDeliveries = (id: string, status: DeliveryStatus | null) =>
  usePages([...endpointOf(id), 'deliveries', status], (page, signal) => askDeliveries(id, status, page, signal), {
    keepsPrevious: true,
  });

/** Polls only the newest deliveries, because older ones rarely change. */
export const useNewestDeliveries = (id: string, status: DeliveryStatus | null, isOn: boolean) =>
  useQuery({
    queryKey: [...endpointOf(id), 'newest-deliveries', status],
    queryFn: ({ signal }) => askDeliveries(id, status, { limit: NEWEST }, signal),
    enabled: isOn,
    refetchInterval: pollEvery((newest: Awaited<ReturnType<typeof askDeliveries>> | undefined) =>
      newest?.data.some(({ status: is }) => is === 'pending') === true ? SOON_MS : NOW_AND_THEN_MS,
    ),
  });

/** Puts polled deliveries above those that were loaded before; null if there may be a gap between them. */
export function withNewest(
  newest: { readonly data: readonly Delivery[]; readonly has_more: boolean },
  before: readonly Delivery[],
): readonly Delivery[] | null {
  const last = newest.data.at(-1)?.id;
  if (!newest.has_more || last === undefined) return newest.data;
  const [first] = before;
  if (first !== undefined && first.id < last) return null;
  return [...newest.data, ...before.filter(({ id }) => id < last)];
}

/** Reads one delivery with every attempt. */
export const useDelivery = (id: string) =>
  useQuery({
    queryKey: ['webhook-delivery', id],
    queryFn: () => unwrap(api.GET('/admin/v1/webhook-deliveries/{id}', { params: { path: { id } } })),
    refetchInterval: pollEvery((delivery: DeliveryDetail | undefined) =>
      delivery?.status === 'pending' ? SOON_MS : false,
    ),
  });

/** Refetches an endpoint and its deliveries after a change. */
export async function readAgain({ id, account_id: accountId }: Pick<Endpoint, 'id' | 'account_id'>): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: listOf(accountId) }),
    queries.invalidateQueries({ queryKey: endpointOf(id) }),
    queries.invalidateQueries({ queryKey: ['webhook-delivery'] }),
  ]);
}

/** Refetches the list after an endpoint was added or deleted. */
export const readListAgain = (accountId: string) => queries.invalidateQueries({ queryKey: listOf(accountId) });

export const createEndpoint = (accountId: string, body: NewEndpoint, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/accounts/{id}/webhook-endpoints', {
      params: { path: { id: accountId } },
      headers: once(requestId),
      body,
    }),
  );

export const updateEndpoint = (id: string, body: EndpointChange, etag: string | null) =>
  unwrap(api.PATCH('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } }, headers: onlyIf(etag), body }));

export const rotateSecret = (id: string, body: Rotation, etag: string | null, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/webhook-endpoints/{id}/rotate-secret', {
      params: { path: { id } },
      headers: { ...onlyIf(etag), ...once(requestId) },
      body,
    }),
  );

export const endPreviousSecret = (id: string) =>
  unwrap(api.POST('/admin/v1/webhook-endpoints/{id}/end-previous-secret', { params: { path: { id } } }));

/** Returns when each previous secret stops signing, latest first. */
export const previousSecretEnds = ({ public_keys: keys }: Pick<Endpoint, 'public_keys'>): string[] =>
  keys.flatMap(({ expires_at: end }) => end ?? []).toSorted((one, other) => Date.parse(other) - Date.parse(one));

export const deleteEndpoint = (id: string) =>
  unwrap(api.DELETE('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } } }));

export const sendTest = (id: string, type: string | null) =>
  unwrap(
    api.POST('/admin/v1/webhook-endpoints/{id}/test', {
      params: { path: { id } },
      body: type === null ? {} : { type },
    }),
  );

export const replay = (id: string, body: Replay) =>
  unwrap(api.POST('/admin/v1/webhook-endpoints/{id}/replay', { params: { path: { id } }, body }));

export const retryDelivery = (id: string) =>
  unwrap(api.POST('/admin/v1/webhook-deliveries/{id}/retry', { params: { path: { id } } }));

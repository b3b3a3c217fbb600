/** Queries and requests to the admin API that read and change webhook endpoints and their deliveries. */
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap, unwrapVersioned, idempotencyKeyHeader, ifMatchHeader } from '../api/client.js';
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

/** Number of newest deliveries that the panel polls. */
const MAX_NEWEST = 50;
/** Polling intervals in milliseconds: while a delivery is pending, and otherwise. */
const PENDING_POLL_MS = 2_000;
const IDLE_POLL_MS = 15_000;

const listQueryKey = (accountId: string) => ['account', accountId, 'webhook-endpoints'] as const;
const endpointKey = (id: string) => ['webhook-endpoint', id] as const;

/** Reads the endpoints of an account page by page. */
export const useEndpoints = (accountId: string) =>
  usePages(listQueryKey(accountId), (query, signal) =>
    unwrap(
      api.GET('/admin/v1/accounts/{id}/webhook-endpoints', { params: { path: { id: accountId }, query }, signal }),
    ),
  );

/** Reads and polls one endpoint with its version (ETag), which `updateEndpoint` and `rotateSecret` need. */
export const useEndpoint = (id: string) =>
  useQuery({
    queryKey: endpointKey(id),
    queryFn: () => unwrapVersioned(api.GET('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } } })),
    refetchInterval: pollEvery(IDLE_POLL_MS),
  });

/** Reads the event types to which an endpoint can subscribe. Cached data counts as current for five minutes. */
export const useEventTypes = () =>
  useQuery({ queryKey: ['event-types'], queryFn: () => unwrap(api.GET('/admin/v1/event-types')), staleTime: 300_000 });

const readDeliveries = (id: string, status: DeliveryStatus | null, page: PageQuery, signal: AbortSignal) =>
  unwrap(
    api.GET('/admin/v1/webhook-endpoints/{id}/deliveries', {
      params: { path: { id }, query: { ...page, ...(status === null ? {} : { status }) } },
      signal,
    }),
  );

/** Reads the deliveries of an endpoint page by page, newest first. `status` filters the deliveries; null means all. */
export const useDeliveries = (id: string, status: DeliveryStatus | null) =>
  usePages([...endpointKey(id), 'deliveries', status], (page, signal) => readDeliveries(id, status, page, signal), {
    keepsPrevious: true,
  });

/**
 * Polls only the newest deliveries of an endpoint, because older deliveries rarely change. The query runs only if
 * `isEnabled` is true.
 */
export const useNewestDeliveries = (id: string, status: DeliveryStatus | null, isEnabled: boolean) =>
  useQuery({
    queryKey: [...endpointKey(id), 'newest-deliveries', status],
    queryFn: ({ signal }) => readDeliveries(id, status, { limit: MAX_NEWEST }, signal),
    enabled: isEnabled,
    refetchInterval: pollEvery((newest: Awaited<ReturnType<typeof readDeliveries>> | undefined) =>
      newest?.data.some(({ status: is }) => is === 'pending') === true ? PENDING_POLL_MS : IDLE_POLL_MS,
    ),
  });

/**
 * Returns the polled deliveries followed by the older loaded deliveries. Null if deliveries between both lists may be
 * missing. IDs sort by creation time.
 */
export function withNewest(
  newest: { readonly data: readonly Delivery[]; readonly has_more: boolean },
  loaded: readonly Delivery[],
): readonly Delivery[] | null {
  const last = newest.data.at(-1)?.id;
  if (!newest.has_more || last === undefined) return newest.data;
  const [first] = loaded;
  if (first !== undefined && first.id < last) return null;
  return [...newest.data, ...loaded.filter(({ id }) => id < last)];
}

/** Reads one delivery with all attempts. Polls while the delivery is pending. */
export const useDelivery = (id: string) =>
  useQuery({
    queryKey: ['webhook-delivery', id],
    queryFn: () => unwrap(api.GET('/admin/v1/webhook-deliveries/{id}', { params: { path: { id } } })),
    refetchInterval: pollEvery((delivery: DeliveryDetail | undefined) =>
      delivery?.status === 'pending' ? PENDING_POLL_MS : false,
    ),
  });

/** Refetches an endpoint, its deliveries, and the list of endpoints of the account after a change. */
export async function refetchEndpoint({
  id,
  account_id: accountId,
}: Pick<Endpoint, 'id' | 'account_id'>): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: listQueryKey(accountId) }),
    queries.invalidateQueries({ queryKey: endpointKey(id) }),
    queries.invalidateQueries({ queryKey: ['webhook-delivery'] }),
  ]);
}

/** Refetches the list of endpoints of an account after an endpoint was added or deleted. */
export const refetchList = (accountId: string) => queries.invalidateQueries({ queryKey: listQueryKey(accountId) });

export const createEndpoint = (accountId: string, body: NewEndpoint, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/accounts/{id}/webhook-endpoints', {
      params: { path: { id: accountId } },
      headers: idempotencyKeyHeader(requestId),
      body,
    }),
  );

export const updateEndpoint = (id: string, body: EndpointChange, etag: string | null) =>
  unwrap(
    api.PATCH('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } }, headers: ifMatchHeader(etag), body }),
  );

/**
 * Rotates the signing secret. `requestId` is the idempotency key. Rejects with `precondition_failed` if the endpoint
 * has another version than `etag`.
 */
export const rotateSecret = (id: string, body: Rotation, etag: string | null, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/webhook-endpoints/{id}/rotate-secret', {
      params: { path: { id } },
      headers: { ...ifMatchHeader(etag), ...idempotencyKeyHeader(requestId) },
      body,
    }),
  );

export const endPreviousSecret = (id: string) =>
  unwrap(api.POST('/admin/v1/webhook-endpoints/{id}/end-previous-secret', { params: { path: { id } } }));

/** Returns the times (ISO 8601) at which previous secrets stop signing events, latest first. */
export const previousSecretEnds = ({ public_keys: keys }: Pick<Endpoint, 'public_keys'>): string[] =>
  keys.flatMap(({ expires_at: end }) => end ?? []).toSorted((one, other) => Date.parse(other) - Date.parse(one));

export const deleteEndpoint = (id: string) =>
  unwrap(api.DELETE('/admin/v1/webhook-endpoints/{id}', { params: { path: { id } } }));

/** Sends a test event once, without retries. `type` is the event type. Null means `webhook.test`. */
export const sendTest = (id: string, type: string | null) =>
  unwrap(
    api.POST('/admin/v1/webhook-endpoints/{id}/test', {
      params: { path: { id } },
      body: type === null ? {} : { type },
    }),
  );

export const replayDeliveries = (id: string, body: Replay) =>
  unwrap(api.POST('/admin/v1/webhook-endpoints/{id}/replay', { params: { path: { id } }, body }));

export const retryDelivery = (id: string) =>
  unwrap(api.POST('/admin/v1/webhook-deliveries/{id}/retry', { params: { path: { id } } }));

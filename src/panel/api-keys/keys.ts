/** Queries and requests to the admin API that read and change API keys. */
import { useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, unwrap, unwrapVersioned, idempotencyKeyHeader, ifMatchHeader } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';

export type Key = components['schemas']['ApiKey'];
export type ListedKey = components['schemas']['ListedApiKey'];
export type KeyStatus = Key['status'];
/** API key with its secret. Only the responses to a creation and a rotation contain the secret. */
export type CreatedKey = components['schemas']['ApiKeyWithSecret'];
/** Scopes and latest expiration that an OAuth client was granted. Its key cannot exceed this grant. */
export type OAuthGrant = NonNullable<components['schemas']['ApiKeyImpact']['oauth_grant']>;
export type NewKey = components['schemas']['CreateApiKey'];
export type KeyChange = components['schemas']['UpdateApiKey'];
export type Scope = components['schemas']['Scope'];
type ListQuery = NonNullable<operations['listApiKeys']['parameters']['query']>;

/** Search text, filters and sort order of a list of keys. */
export type KeyFilter = Pick<
  ListQuery,
  'q' | 'status' | 'environment' | 'oauth_client' | 'authorized_by' | 'sort' | 'order'
>;

type Rotation = components['schemas']['RotateApiKey'];
/** Time in seconds that the current secret keeps working after a rotation. */
export type Overlap = Rotation['overlap_seconds'];

const listQueryKey = (accountId: string) => ['account', accountId, 'api-keys'] as const;

/**
 * Reads the keys of an account page by page. While a new filter loads, the keys of the previous filter stay visible.
 */
export const useKeys = (accountId: string, filter: KeyFilter) =>
  usePages(
    [...listQueryKey(accountId), filter],
    (page, signal) =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/api-keys', {
          params: { path: { id: accountId }, query: { ...filter, ...page } },
          signal,
        }),
      ),
    { keepsPrevious: true },
  );

/** Reads one key with its version (ETag), which `updateKey` and `rotateKey` need. */
export const useKey = (id: string) =>
  useQuery({
    queryKey: ['api-key', id],
    queryFn: () => unwrapVersioned(api.GET('/admin/v1/api-keys/{id}', { params: { path: { id } } })),
  });

/**
 * Reads the recent usage of a key, which shows what a pause, a revocation or fewer scopes would break. The query runs
 * only if `isWanted` is true.
 */
export const useImpact = (id: string, isWanted: boolean) =>
  useQuery({
    queryKey: ['api-key', id, 'impact'],
    queryFn: () => unwrap(api.GET('/admin/v1/api-keys/{id}/impact', { params: { path: { id } } })),
    enabled: isWanted,
    // Users decide by this data, so each new component refetches the cached data.
    refetchOnMount: 'always',
  });

/** Reads the scopes that the signed-in user can give a key. Cached data counts as current for five minutes. */
export const useScopes = () =>
  useQuery({ queryKey: ['scopes'], queryFn: () => unwrap(api.GET('/admin/v1/scopes')), staleTime: 300_000 });

/** Refetches the lists of keys after a change. With a key ID, also refetches that key and its recent usage. */
export async function refetchKeys(accountId: string, keyId?: string): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: listQueryKey(accountId) }),
    ...(keyId === undefined ? [] : [queries.invalidateQueries({ queryKey: ['api-key', keyId] })]),
  ]);
}

export const createKey = (accountId: string, body: NewKey, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/accounts/{id}/api-keys', {
      params: { path: { id: accountId } },
      headers: idempotencyKeyHeader(requestId),
      body,
    }),
  );

export const updateKey = (id: string, body: KeyChange, etag: string | null) =>
  unwrap(api.PATCH('/admin/v1/api-keys/{id}', { params: { path: { id } }, headers: ifMatchHeader(etag), body }));

export const rotateKey = (id: string, body: Rotation, etag: string | null, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/api-keys/{id}/rotate', {
      params: { path: { id } },
      headers: { ...ifMatchHeader(etag), ...idempotencyKeyHeader(requestId) },
      body,
    }),
  );

// The following requests send no `If-Match`. They must work even if someone else changed the key in the meantime.
export const revokeKey = (id: string) => unwrap(api.DELETE('/admin/v1/api-keys/{id}', { params: { path: { id } } }));
export const pauseKey = (id: string) => unwrap(api.POST('/admin/v1/api-keys/{id}/pause', { params: { path: { id } } }));
export const endPreviousSecret = (id: string) =>
  unwrap(api.POST('/admin/v1/api-keys/{id}/end-previous-secret', { params: { path: { id } } }));
export const resumeKey = (id: string) =>
  unwrap(api.POST('/admin/v1/api-keys/{id}/resume', { params: { path: { id } } }));

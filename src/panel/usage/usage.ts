/** Queries to the admin API that read the usage of an account. */
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { pollEvery } from '../api/polling.js';

export type Usage = components['schemas']['Usage'];
export type UsageRow = components['schemas']['UsageRow'];
export type UsageWindow = Usage['windows'][number];
export type Forecast = NonNullable<Usage['forecasts']>[number];

const PAGE_SIZE = 1_000;
/** Maximum number of pages that the panel reads. Only the CSV file contains the remaining rows. */
const MAX_PAGES = 5;
/** Polling interval of queries that need one request, in milliseconds. */
const POLL_MS = 30_000;
/** Polling interval of queries that need several requests, in milliseconds. */
const SLOW_POLL_MS = 60_000;

/** Property by which the API can group usage. */
export type UsageGroup = 'day' | 'api_key' | 'operation' | 'outcome';

async function readPage(accountId: string, groups: readonly UsageGroup[], cursor: string | null): Promise<Usage> {
  const from = cursor === null ? ({ forecast: 'true' } as const) : { cursor };
  const query = { group_by: groups.join(), limit: PAGE_SIZE, ...from };
  // The OpenAPI document also types the response as CSV text.
  return (await unwrap(
    api.GET('/admin/v1/accounts/{id}/usage', { params: { path: { id: accountId }, query } }),
  )) as Usage;
}

/** Reads up to `MAX_PAGES` pages, and merges them. `has_more` of the result says whether rows are missing. */
async function readUsage(accountId: string, groups: readonly UsageGroup[]): Promise<Usage> {
  const first = await readPage(accountId, groups, null);
  const rows = [...(first.data ?? [])];
  let next = first.next_cursor ?? null;
  for (let pages = 1; next !== null && pages < MAX_PAGES; pages++) {
    const more = await readPage(accountId, groups, next);
    rows.push(...(more.data ?? []));
    next = more.next_cursor ?? null;
  }
  return { ...first, data: rows, has_more: next !== null };
}

/** Reads and polls the usage of an account in the current billing month, grouped by the given properties. */
export const useUsage = (accountId: string, groups: readonly UsageGroup[]) =>
  useQuery({
    queryKey: ['account', accountId, 'usage', groups],
    queryFn: () => readUsage(accountId, groups),
    refetchInterval: pollEvery((usage: Usage | undefined) =>
      (usage?.data?.length ?? 0) > PAGE_SIZE ? SLOW_POLL_MS : POLL_MS,
    ),
  });

/** Returns the URL of the CSV file with all usage rows of the current billing month. */
export const csvAddress = (accountId: string, groups: readonly UsageGroup[]): string =>
  `/admin/v1/accounts/${accountId}/usage?format=csv&group_by=${groups.join()}`;

/**
 * Result of a request, as the usage page shows it. `refused` means that a limit or a rejected key blocked the request.
 */
export type Outcome = 'worked' | 'failed' | 'refused';

const BLOCKED_OUTCOMES: ReadonlySet<string> = new Set(['rate_limited', 'quota_exceeded', 'denied']);

/**
 * Returns the result of the requests in a usage row. Null for adjustments and shadow limits, which do not count
 * requests.
 */
export function outcomeOf({ outcome }: UsageRow): Outcome | null {
  if (outcome === 'adjusted' || outcome === 'shadow_refused') return null;
  if (outcome === undefined || outcome === 'success' || outcome === 'in_flight') return 'worked';
  return BLOCKED_OUTCOMES.has(outcome) ? 'refused' : 'failed';
}

/** Reading what an account has used. */
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { pollEvery } from '../api/polling.js';

export type Usage = components['schemas']['Usage'];
export type UsageRow = components['schemas']['UsageRow'];
export type UsageWindow = Usage['windows'][number];
export type Forecast = NonNullable<Usage['forecasts']>[number];

const PAGE_SIZE = 1_000;
/** What is behind these pages is in the spreadsheet alone. */
const MOST_PAGES = 5;
const AGAIN_MS = 30_000;
/** Of what takes several requests. */
const LONG_AGAIN_MS = 60_000;

/** What tables are made of. */
export type UsageGroup = 'day' | 'api_key' | 'operation' | 'outcome';

async function readPage(accountId: string, groups: readonly UsageGroup[], cursor: string | null): Promise<Usage> {
  const from = cursor === null ? ({ forecast: 'true' } as const) : { cursor };
  const query = { group_by: groups.join(), limit: PAGE_SIZE, ...from };
  // The description has the CSV as well, which is text.
  return (await ask(api.GET('/admin/v1/accounts/{id}/usage', { params: { path: { id: accountId }, query } }))) as Usage;
}

/** Reads one page after the other; `has_more` then says that there is more than is worth reading here. */
async function readUsage(accountId: string, groups: readonly UsageGroup[]): Promise<Usage> {
  const first = await readPage(accountId, groups, null);
  const rows = [...(first.data ?? [])];
  let next = first.next_cursor ?? null;
  for (let pages = 1; next !== null && pages < MOST_PAGES; pages++) {
    const more = await readPage(accountId, groups, next);
    rows.push(...(more.data ?? []));
    next = more.next_cursor ?? null;
  }
  return { ...first, data: rows, has_more: next !== null };
}

/** The month of an account, by day and outcome, by key or by operation. */
export const useUsage = (accountId: string, groups: readonly UsageGroup[]) =>
  useQuery({
    queryKey: ['account', accountId, 'usage', groups],
    queryFn: () => readUsage(accountId, groups),
    refetchInterval: pollEvery((usage: Usage | undefined) =>
      (usage?.data?.length ?? 0) > PAGE_SIZE ? LONG_AGAIN_MS : AGAIN_MS,
    ),
  });

/** The file with all rows of it, for a spreadsheet. */
export const csvAddress = (accountId: string, groups: readonly UsageGroup[]): string =>
  `/admin/v1/accounts/${accountId}/usage?format=csv&group_by=${groups.join()}`;

/** What becomes of a request, as the pages tell apart. */
export type Outcome = 'worked' | 'failed' | 'refused';

const REFUSED: ReadonlySet<string> = new Set(['rate_limited', 'quota_exceeded', 'denied']);

/** Null for rows that are no requests. */
export function outcomeOf({ outcome }: UsageRow): Outcome | null {
  if (outcome === 'adjusted' || outcome === 'shadow_refused') return null;
  if (outcome === undefined || outcome === 'success' || outcome === 'in_flight') return 'worked';
  return REFUSED.has(outcome) ? 'refused' : 'failed';
}

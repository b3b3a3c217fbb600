/** Reading what an account has used. */
import { useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';

export type Usage = components['schemas']['Usage'];
export type UsageRow = components['schemas']['UsageRow'];
export type UsageWindow = Usage['windows'][number];
export type Forecast = NonNullable<Usage['forecasts']>[number];

const MOST_ROWS = 1_000;
const AGAIN_MS = 5_000;

/** What tables are made of. */
export type UsageGroup = 'day' | 'api_key' | 'operation' | 'outcome';

/** The month of an account, by day and outcome, by key or by operation. */
export const useUsage = (accountId: string, groups: readonly UsageGroup[]) =>
  useQuery({
    queryKey: ['account', accountId, 'usage', groups],
    // The description has the CSV as well, which is text.
    queryFn: async () =>
      (await ask(
        api.GET('/admin/v1/accounts/{id}/usage', {
          params: { path: { id: accountId }, query: { group_by: groups.join(), forecast: 'true', limit: MOST_ROWS } },
        }),
      )) as Usage,
    refetchInterval: AGAIN_MS,
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

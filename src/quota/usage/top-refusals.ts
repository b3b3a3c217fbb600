/** Shows the accounts that are refused most in the metrics, as many as the configuration says. */
import { OTHER_ACCOUNTS } from '../../platform/metrics/limit-metrics.js';
import { METRICS } from '../../platform/metrics.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
import type { RefusalTally } from './refusal-tally.js';

const MINUTE_MS = 60_000;

/** Shows them from now on. @param most how many accounts at most; asked at each scrape. */
export function showRefusals(tally: RefusalTally, most: () => number): ReadsGauges {
  setInterval(() => tally.turn(), MINUTE_MS).unref();
  return {
    readGauges: () =>
      METRICS.topAccountRefusals.show(
        tally.top(most()).map(({ accountId, policy, count }) => [[accountId ?? OTHER_ACCOUNTS, policy], count]),
      ),
  };
}

/** Shows the accounts with the most refused requests in the metrics. The configuration sets the number of accounts. */
import { OTHER_ACCOUNTS } from '../../platform/metrics/limit-metrics.js';
import { METRICS } from '../../platform/metrics.js';
import type { ReadsGauges } from '../../platform/collect-metrics.js';
import type { RefusalTally } from './refusal-tally.js';

const MINUTE_MS = 60_000;

/**
 * Starts to rotate the minutes of the tally, and returns the object that updates the metric at each scrape.
 * @param most returns the maximum number of accounts; called at each scrape.
 */
export function startRefusalGauges(tally: RefusalTally, most: () => number): ReadsGauges {
  setInterval(() => tally.startMinute(), MINUTE_MS).unref();
  return {
    readGauges: () =>
      METRICS.topAccountRefusals.show(
        tally
          .rankAccounts(most())
          .map(({ accountId, policy, count }) => [[accountId ?? OTHER_ACCOUNTS, policy], count]),
      ),
  };
}

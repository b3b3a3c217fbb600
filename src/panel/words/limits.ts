/**
 * Labels of limits by period, in the language of the page. Pages and forms show the periods in the order of
 * `LIMIT_PERIODS`.
 */
import { useLingui } from '@lingui/react/macro';

interface PeriodLabels {
  /** Title of the usage in the current period. */
  readonly now: string;
  /** Label of the limit of a single key. */
  readonly requests: string;
  /** Labels of the limits in a plan, by owner. */
  readonly plan: Readonly<Record<LimitOwner, string>>;
  /** Labels of the limits on the Explain page, by owner. */
  readonly decision: Readonly<Record<LimitOwner, string>>;
  /** Text after a number, as in `60 per minute`. */
  readonly per: string;
}

/** Owners of a limit: an account, with the requests of all its keys, or a single key. */
export const LIMIT_OWNERS = ['account', 'key'] as const;
type LimitOwner = (typeof LIMIT_OWNERS)[number];

export const LIMIT_PERIODS = ['minute', 'day', 'month'] as const;
export type LimitPeriod = (typeof LIMIT_PERIODS)[number];

/** Returns the labels of limits for each period. */
export function useLimitLabels(): Readonly<Record<LimitPeriod, PeriodLabels>> {
  const { t } = useLingui();
  return {
    minute: {
      now: t`The last minute`,
      requests: t`Requests per minute`,
      plan: { account: t`All keys, per minute`, key: t`Each key, per minute` },
      decision: { account: t`Account, per minute`, key: t`Key, per minute` },
      per: t`per minute`,
    },
    day: {
      now: t`Today`,
      requests: t`Requests per day`,
      plan: { account: t`All keys, per day`, key: t`Each key, per day` },
      decision: { account: t`Account, per day`, key: t`Key, per day` },
      per: t`per day`,
    },
    month: {
      now: t`This month`,
      requests: t`Requests per month`,
      plan: { account: t`All keys, per month`, key: t`Each key, per month` },
      decision: { account: t`Account, per month`, key: t`Key, per month` },
      per: t`per month`,
    },
  };
}

/** Splits the name of a limit into owner and period. For example, `key-month` is the monthly limit of a key. */
export function parsePolicy(policy: `${LimitOwner}-${LimitPeriod}`): { owner: LimitOwner; period: LimitPeriod } {
  const [owner, period] = policy.split('-') as [LimitOwner, LimitPeriod];
  return { owner, period };
}

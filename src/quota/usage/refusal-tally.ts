/**
 * Counts recent refusals by account and policy, for the metrics. Bounds memory by a maximum number of accounts and a
 * fixed time span.
 */
import { WINDOWS, type WindowName } from '../../platform/quotas/windows.js';

/** Number of whole minutes that are kept in addition to the current one. */
const MINUTES = 5;
/**
 * Maximum number of accounts per minute. Refusals of further accounts are summed. The accounts with the most refusals
 * usually appear early in each minute, so they have their own counts.
 */
const MAX_ACCOUNTS = 2_000;
/** Map key for all accounts beyond the maximum. No account has this ID. */
const OTHERS = '';

/** Number of refusals by each policy, in the order of `WINDOWS`. */
type Counts = number[];

/**
 * RefusalCount is the number of refusals of an account by a policy. Without an account ID, `count` is the sum of all
 * other accounts.
 */
export interface RefusalCount {
  readonly accountId: string | undefined;
  readonly policy: WindowName;
  readonly count: number;
}

/** RefusalTally counts refusals by account for the last minutes. */
export class RefusalTally {
  /** Counts by minute, the current one first. */
  private minutes: Map<string, Counts>[] = [new Map()];

  /** Counts a refusal once for each policy whose bit is set in `violated`. Hot path. */
  recordRefusal(accountId: string, violated: number): void {
    const minute = this.minutes[0]!;
    let counts = minute.get(accountId);
    if (counts === undefined) counts = this.createCounts(minute, accountId);
    for (let index = 0; index < WINDOWS.length; index++) {
      if ((violated & (1 << index)) !== 0) counts[index]! += 1;
    }
  }

  /** Starts the next minute, and forgets the oldest minute. Call it once a minute. */
  startMinute(): void {
    this.minutes = [new Map(), ...this.minutes.slice(0, MINUTES)];
  }

  /**
   * Returns the accounts with the most refusals, and the sum of the others.
   * @param most maximum number of accounts.
   */
  rankAccounts(most: number): RefusalCount[] {
    const sums = new Map<string, Counts>([[OTHERS, zeroCounts()]]);
    for (const minute of this.minutes) for (const [account, counts] of minute) add(sums, account, counts);
    const ranked = [...sums].filter(([account]) => account !== OTHERS).toSorted((a, b) => total(b[1]) - total(a[1]));
    const others = sums.get(OTHERS) ?? zeroCounts();
    for (const [, counts] of ranked.slice(most)) addTo(others, counts);
    return [
      ...ranked.slice(0, most).flatMap(([account, counts]) => rowsOf(account, counts)),
      ...rowsOf(OTHERS, others),
    ];
  }

  private createCounts(minute: Map<string, Counts>, accountId: string): Counts {
    const name = minute.size < MAX_ACCOUNTS ? accountId : OTHERS;
    let counts = minute.get(name);
    if (counts === undefined) minute.set(name, (counts = zeroCounts()));
    return counts;
  }
}

function zeroCounts(): Counts {
  return WINDOWS.map(() => 0);
}

function add(sums: Map<string, Counts>, account: string, counts: Counts): void {
  const sum = sums.get(account);
  if (sum === undefined) sums.set(account, [...counts]);
  else addTo(sum, counts);
}

function addTo(sum: Counts, counts: Counts): void {
  for (const [index, count] of counts.entries()) sum[index]! += count;
}

function total(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Returns the rows of an account, one for each policy that refused a request. For the sum of other accounts, returns a
 * row for every policy.
 */
function rowsOf(account: string, counts: Counts): RefusalCount[] {
  const rows = WINDOWS.map(({ name }, index) => ({
    accountId: account === OTHERS ? undefined : account,
    policy: name,
    count: counts[index] ?? 0,
  }));
  return rows.filter(({ accountId, count }) => accountId === undefined || count > 0);
}

/** Counts recent refusals by account and policy. Both the number of accounts and the time span are bounded. */
import { WINDOWS, type WindowName } from '../../platform/quotas/windows.js';

/** Number of whole minutes to keep beside the current one. */
const MINUTES = 5;
/**
 * Maximum number of accounts per minute. Later accounts are counted together. The most refused accounts appear early in
 * each minute.
 */
const MOST_ACCOUNTS = 2_000;
/** Name for all accounts beyond the maximum. No account has this name. */
const OTHERS = '';

/** Number of refusals by each policy, in the order of `WINDOWS`. */
type Counts = number[];

/**
 * RefusalCount is the number of refusals of an account by a policy. Without an account, it is the sum of all others.
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

  /** Counts a refusal by the policies of these bits. Hot path. */
  recordRefusal(accountId: string, violated: number): void {
    const minute = this.minutes[0]!;
    let counts = minute.get(accountId);
    if (counts === undefined) counts = this.begin(minute, accountId);
    for (let index = 0; index < WINDOWS.length; index++) {
      if ((violated & (1 << index)) !== 0) counts[index]! += 1;
    }
  }

  /** Starts the next minute. Call it once a minute. */
  startMinute(): void {
    this.minutes = [new Map(), ...this.minutes.slice(0, MINUTES)];
  }

  /**
   * Returns the most refused accounts, and the sum of the others.
   * @param most maximum number of accounts.
   */
  rankAccounts(most: number): RefusalCount[] {
    const sums = new Map<string, Counts>([[OTHERS, none()]]);
    for (const minute of this.minutes) for (const [account, counts] of minute) add(sums, account, counts);
    const ranked = [...sums].filter(([account]) => account !== OTHERS).toSorted((a, b) => total(b[1]) - total(a[1]));
    const others = sums.get(OTHERS) ?? none();
    for (const [, counts] of ranked.slice(most)) addTo(others, counts);
    return [
      ...ranked.slice(0, most).flatMap(([account, counts]) => rowsOf(account, counts)),
      ...rowsOf(OTHERS, others),
    ];
  }

  private begin(minute: Map<string, Counts>, accountId: string): Counts {
    const name = minute.size < MOST_ACCOUNTS ? accountId : OTHERS;
    let counts = minute.get(name);
    if (counts === undefined) minute.set(name, (counts = none()));
    return counts;
  }
}

function none(): Counts {
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

/** Returns an account's rows for policies that refused, or the other accounts' rows for all policies. */
function rowsOf(account: string, counts: Counts): RefusalCount[] {
  const rows = WINDOWS.map(({ name }, index) => ({
    accountId: account === OTHERS ? undefined : account,
    policy: name,
    count: counts[index] ?? 0,
  }));
  return rows.filter(({ accountId, count }) => accountId === undefined || count > 0);
}

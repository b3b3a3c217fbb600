/**
 * Which accounts were refused most of late, and by which policy: of a bounded number of accounts, in a bounded time.
 */
import { WINDOWS, type WindowName } from '../../platform/quotas/windows.js';

/** Of the last so many whole minutes, and of the one that is under way. */
const MINUTES = 5;
/**
 * Accounts of one minute; those that come after them are counted together. Whoever is refused most comes early in each
 * minute.
 */
const MOST_ACCOUNTS = 2_000;
/** Stands for all that have no name here. No account is called so. */
const OTHERS = '';

/** How often each policy refused, in the order of `WINDOWS`. */
type Counts = number[];

/** How often an account was refused by a policy; without an account: how often all the others were. */
export interface RefusalCount {
  readonly accountId: string | undefined;
  readonly policy: WindowName;
  readonly count: number;
}

/** RefusalTally counts refusals by account for the last minutes. */
export class RefusalTally {
  /** The current minute first. */
  private minutes: Map<string, Counts>[] = [new Map()];

  /** A request was refused by the policies of these bits. On the request path. */
  note(accountId: string, violated: number): void {
    const minute = this.minutes[0]!;
    let counts = minute.get(accountId);
    if (counts === undefined) counts = this.begin(minute, accountId);
    for (let index = 0; index < WINDOWS.length; index++) {
      if ((violated & (1 << index)) !== 0) counts[index]! += 1;
    }
  }

  /** A minute is over: call it once a minute. */
  turn(): void {
    this.minutes = [new Map(), ...this.minutes.slice(0, MINUTES)];
  }

  /** The accounts that were refused most, and the sum of the others. @param most so many accounts. */
  top(most: number): RefusalCount[] {
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

/** Of an account those policies that refused, of the others all. */
function rowsOf(account: string, counts: Counts): RefusalCount[] {
  const rows = WINDOWS.map(({ name }, index) => ({
    accountId: account === OTHERS ? undefined : account,
    policy: name,
    count: counts[index] ?? 0,
  }));
  return rows.filter(({ accountId, count }) => accountId === undefined || count > 0);
}

/**
 * Refuses configuration changes that remove a plan in use. Otherwise, the requests of its accounts would get 503.
 */
import type { Kysely } from 'kysely';
import type { Config } from '../config/model/schema.js';
import type { Tables } from '../stores/database/schema.js';

/** Maximum number of plans in an error message. */
const MOST_NAMED = 20;
const HINT = 'leave it in until they have another: trailgate accounts update <account> --plan <plan>';

type Plans = Config['file']['plans'];

/**
 * Rejects if the new configuration removes a plan that accounts use. The message is for the author of the file. Queries
 * the database only if a plan is removed, and also rejects if that query fails.
 */
export async function keepPlansInUse(
  db: Kysely<Tables>,
  running: Plans,
  next: Pick<Config, 'file' | 'path'>,
): Promise<void> {
  const gone = Object.keys(running).filter((plan) => !Object.hasOwn(next.file.plans, plan));
  if (gone.length === 0) return;
  const accounts = await accountsByPlan(db).catch((error: unknown) => {
    throw new Error(unknownUse(next.path, gone, error), { cause: error });
  });
  const used = gone.filter((plan) => accounts.has(plan));
  if (used.length === 0) return;
  const words = used
    .slice(0, MOST_NAMED)
    .map((plan) => `${next.path}: plans.${plan}: is gone, and ${onIt(accounts.get(plan) ?? 0)}\n  → ${HINT}`);
  const more = used.length - MOST_NAMED;
  throw new Error([...words, ...(more > 0 ? [`and ${more} more plans`] : [])].join('\n'));
}

/** Returns the plans of accounts that are not in the configuration. Rejects with the error of the database. */
export async function plansMissing(db: Kysely<Tables>, plans: Plans): Promise<string[]> {
  return [...(await accountsByPlan(db)).keys()].filter((plan) => !Object.hasOwn(plans, plan));
}

/** Counts the accounts of each plan. Includes suspended ones, because they may be reactivated. */
async function accountsByPlan(db: Kysely<Tables>): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('account')
    .select(['plan', (count) => count.fn.countAll().as('accounts')])
    .groupBy('plan')
    .execute();
  return new Map(rows.map(({ plan, accounts }) => [plan, Number(accounts)]));
}

function onIt(accounts: number): string {
  return accounts === 1 ? '1 account is on it' : `${accounts} accounts are on it`;
}

function unknownUse(path: string, gone: readonly string[], error: unknown): string {
  const [plans, isAre] = gone.length === 1 ? [`plans.${gone[0]}`, 'is'] : [`${gone.length} plans`, 'are'];
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `${path}: ${plans}: ${isAre} gone, and the database does not say whether accounts are on ` +
    `${gone.length === 1 ? 'it' : 'them'}: ${reason}\n  → send SIGHUP when it is back, or leave what was there in`
  );
}

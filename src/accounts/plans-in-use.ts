/**
 * Refuses configuration changes that remove a plan in use. Otherwise, the requests of its accounts would get 503.
 */
import type { Kysely } from 'kysely';
import type { Config } from '../config/model/schema.js';
import type { Tables } from '../stores/database/schema.js';

/** Maximum number of plans in an error message. */
const MAX_NAMED = 20;
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
  const removed = Object.keys(running).filter((plan) => !Object.hasOwn(next.file.plans, plan));
  if (removed.length === 0) return;
  const accounts = await accountsByPlan(db).catch((error: unknown) => {
    throw new Error(unknownUse(next.path, removed, error), { cause: error });
  });
  const used = removed.filter((plan) => accounts.has(plan));
  if (used.length === 0) return;
  const words = used
    .slice(0, MAX_NAMED)
    .map(
      (plan) => `${next.path}: plans.${plan}: was removed, but ${describeUse(accounts.get(plan) ?? 0)}\n  → ${HINT}`,
    );
  const more = used.length - MAX_NAMED;
  throw new Error([...words, ...(more > 0 ? [`and ${more} more plans`] : [])].join('\n'));
}

/** Returns the names of the plans that accounts have but the configuration lacks. Rejects with the database's error. */
export async function plansMissing(db: Kysely<Tables>, plans: Plans): Promise<string[]> {
  return [...(await accountsByPlan(db)).keys()].filter((plan) => !Object.hasOwn(plans, plan));
}

/** Counts the accounts of each plan. Includes suspended accounts, because an operator may reactivate them. */
async function accountsByPlan(db: Kysely<Tables>): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('account')
    .select(['plan', (count) => count.fn.countAll().as('accounts')])
    .groupBy('plan')
    .execute();
  return new Map(rows.map(({ plan, accounts }) => [plan, Number(accounts)]));
}

function describeUse(accounts: number): string {
  return accounts === 1 ? '1 account uses it' : `${accounts} accounts use it`;
}

function unknownUse(path: string, removed: readonly string[], error: unknown): string {
  const [plans, isAre] = removed.length === 1 ? [`plans.${removed[0]}`, 'was'] : [`${removed.length} plans`, 'were'];
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `${path}: ${plans}: ${isAre} removed, and the database does not say whether accounts use ` +
    `${removed.length === 1 ? 'it' : 'them'}: ${reason}\n  → send SIGHUP when the database is available, or keep the plan`
  );
}

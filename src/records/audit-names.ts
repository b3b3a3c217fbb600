/** Looks up the current display names of actors and targets, for pages of the audit log. */
import type { Kysely } from 'kysely';
import type { AuditEntryTable, Tables } from '../stores/database/schema.js';

type Named = Pick<AuditEntryTable, 'actor' | 'target_type' | 'target_id'>;

/** Tables with a `name` column, by target type. */
const NAMED = {
  account: 'account',
  account_token: 'account_token',
  api_key: 'api_key',
  member: 'member',
} as const;

/**
 * Returns the current names of targets and actors, by ID. Erased members, deleted targets and targets without a name
 * have no entry. Runs at most one query per type of target.
 */
export async function namesOf(db: Kysely<Tables>, entries: readonly Named[]): Promise<ReadonlyMap<string, string>> {
  const actors = entries.map(({ actor }) => actor);
  const names = new Map<string, string>();
  const add = (rows: readonly { readonly id: string; readonly name: string }[]): void => {
    for (const { id, name } of rows) if (name !== '') names.set(id, name);
  };
  for (const [type, table] of Object.entries(NAMED)) {
    const targets = entries.filter((entry) => entry.target_type === type).map((entry) => entry.target_id);
    const prefix = { member: 'mem_', account_token: 'tok_' }[type];
    const ids = [...targets, ...(prefix === undefined ? [] : actors.filter((actor) => actor.startsWith(prefix)))];
    if (ids.length > 0)
      add(
        await db
          .selectFrom(table)
          .select(['id', 'name'])
          .where('id', 'in', [...new Set(ids)])
          .execute(),
      );
  }
  const endpoints = entries.filter((entry) => entry.target_type === 'webhook_endpoint').map((entry) => entry.target_id);
  if (endpoints.length > 0) {
    const rows = await db
      .selectFrom('webhook_endpoint')
      .select(['id', 'url'])
      .where('id', 'in', [...new Set(endpoints)])
      .execute();
    // Hide the query of the URL, which may contain a secret of the receiver.
    add(rows.map(({ id, url }) => ({ id, name: url.replace(/\?.*$/s, '?…') })));
  }
  return names;
}

/** Builds the scope check of `scopes.ts` as SQL, so that queries can filter keys by scope. */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import type { DatabaseKind } from './database-kind.js';
import { textList } from './json-rows.js';

/**
 * Returns a condition on `api_key` that is true if `granted` covers all scopes of the key. `missingScopes(granted,
 * scopes)` is empty for exactly these keys.
 */
export function scopesWithin(kind: DatabaseKind, granted: readonly string[]): RawBuilder<SqlBool> {
  if (granted.includes('*')) return sql<SqlBool>`1 = 1`;
  const scopes =
    kind === 'sqlite'
      ? sql`json_each(api_key.scopes) as scope`
      : sql`jsonb_array_elements_text(cast(api_key.scopes as jsonb)) as scope(value)`;
  const prefixes = granted.filter((scope) => /^[^:]+:\*$/.test(scope)).map((scope) => scope.slice(0, -1));
  const covered = [
    sql`scope.value in ${textList(kind, granted)}`,
    ...prefixes.map((prefix) => sql`substr(scope.value, 1, ${sql.lit(prefix.length)}) = ${prefix}`),
  ];
  return sql<SqlBool>`not exists (select 1 from ${scopes} where not (${sql.join(covered, sql` or `)}))`;
}

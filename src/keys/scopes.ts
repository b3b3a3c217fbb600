/**
 * What a key may do: scopes are `resource:verb`; `resource:*` grants every verb of a resource, `*` grants everything.
 */
import type { Operation } from '../config/model/schema.js';
import { InternTable } from '../platform/intern-table.js';

/** The scopes among `needed` that `granted` does not cover, in the order of `needed`. */
export function missingScopes(granted: readonly string[], needed: readonly string[]): string[] {
  return needed.filter((scope) => !covers(granted, scope));
}

function covers(granted: readonly string[], scope: string): boolean {
  if (granted.includes(scope) || granted.includes('*')) return true;
  const colon = scope.indexOf(':');
  return colon > 0 && granted.includes(`${scope.slice(0, colon)}:*`);
}

/**
 * A set of scopes with its verdict per operation, worked out once: checking a scope on the request path is one array
 * read. Keys with the same scopes share one.
 */
export class ScopeSet {
  private readonly verdicts: boolean[] = [];

  constructor(
    readonly scopes: readonly string[],
    /** Space-separated, as backends receive it in `X-Api-Scopes`. */
    readonly text: string,
    /** Who has handed it out. */
    readonly owner: ScopeSets,
  ) {}

  /** Whether every scope of the operation is granted. */
  allows(operation: Operation): boolean {
    return (this.verdicts[operation.index] ??= missingScopes(this.scopes, operation.scopes).length === 0);
  }
}

/** Hands out one `ScopeSet` per distinct set of scopes. */
export class ScopeSets {
  private readonly sets = new InternTable<ScopeSet>();

  of(scopes: readonly string[]): ScopeSet {
    const text = scopes.toSorted().join(' ');
    return this.sets.get(text) ?? this.sets.keep(text, new ScopeSet(scopes, text, this));
  }
}

/**
 * Checks the scopes of API keys. A scope has the form `resource:verb`. The scope `resource:*` grants all verbs of a
 * resource, and `*` grants everything.
 */
import type { Operation } from '../config/model/schema.js';
import { InternTable } from '../platform/intern-table.js';

/** Returns the scopes in `needed` that `granted` does not include, in the order of `needed`. */
export function missingScopes(granted: readonly string[], needed: readonly string[]): string[] {
  return needed.filter((scope) => !covers(granted, scope));
}

function covers(granted: readonly string[], scope: string): boolean {
  if (granted.includes(scope) || granted.includes('*')) return true;
  const colon = scope.indexOf(':');
  return colon > 0 && granted.includes(`${scope.slice(0, colon)}:*`);
}

/**
 * ScopeSet holds the granted scopes of keys, and caches for each operation whether they are sufficient. A check on the
 * request path is then one array read. Keys with the same scopes share a set.
 */
export class ScopeSet {
  private readonly resultsByOperation: boolean[] = [];

  constructor(
    readonly scopes: readonly string[],
    /** Space-separated scopes, as sent to backends in `X-Api-Scopes`. */
    readonly text: string,
    /** `ScopeSets` object that created this set. */
    readonly owner: ScopeSets,
  ) {}

  /** Reports whether the set includes all scopes of an operation. */
  allows(operation: Operation): boolean {
    return (this.resultsByOperation[operation.index] ??= missingScopes(this.scopes, operation.scopes).length === 0);
  }
}

/** ScopeSets returns the same `ScopeSet` for equal sets of scopes, in any order. */
export class ScopeSets {
  private readonly sets = new InternTable<ScopeSet>();

  getOrCreate(scopes: readonly string[]): ScopeSet {
    const text = scopes.toSorted().join(' ');
    return this.sets.get(text) ?? this.sets.keep(text, new ScopeSet(scopes, text, this));
  }
}

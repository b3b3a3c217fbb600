/**
 * What the running configuration offers to accounts and keys: its plans, and the scopes that its operations ask for.
 */
import type { Config, PlanConfig } from '../config/model/schema.js';

/** A scope that a key may be given, and what it opens. */
export interface GrantableScope {
  readonly scope: string;
  /** Ids of the operations that ask for it, or that a wildcard covers. */
  readonly operations: readonly string[];
}

export interface NamedPlan {
  readonly name: string;
  readonly limits: PlanConfig;
}

/** Reads the configuration anew on each question, so that a reload is in force at once. */
export class Catalogue {
  constructor(private readonly config: () => Pick<Config, 'file' | 'operations'>) {}

  plans(): readonly NamedPlan[] {
    return Object.entries(this.config().file.plans).map(([name, limits]) => ({ name, limits }));
  }

  /** The limits of a plan; undefined where there is none of this name. */
  plan(name: string): PlanConfig | undefined {
    const { plans } = this.config().file;
    return Object.hasOwn(plans, name) ? plans[name] : undefined;
  }

  hasPlan(name: string): boolean {
    return Object.hasOwn(this.config().file.plans, name);
  }

  /** Every scope of an operation, `resource:*` for each resource, and `*`; sorted, the widest first. */
  scopes(): readonly GrantableScope[] {
    const operationsByScope = new Map<string, Set<string>>();
    for (const { id, scopes } of this.config().operations) {
      for (const scope of scopes) {
        for (const covering of [scope, `${scope.slice(0, scope.indexOf(':'))}:*`, '*']) {
          const operations = operationsByScope.get(covering) ?? new Set();
          operationsByScope.set(covering, operations.add(id));
        }
      }
    }
    if (!operationsByScope.has('*')) operationsByScope.set('*', new Set());
    return [...operationsByScope]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([scope, operations]) => ({ scope, operations: [...operations] }));
  }

  /**
   * Positions in `scopes` that no operation knows: a key with a scope of a typing error would fail in production only.
   */
  unknownScopes(scopes: readonly string[]): readonly number[] {
    const known = new Set(this.scopes().map(({ scope }) => scope));
    return scopes.flatMap((scope, index) => (known.has(scope) ? [] : [index]));
  }
}

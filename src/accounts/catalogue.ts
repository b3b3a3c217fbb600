/** Lists the plans, scopes, operations and tools of the current configuration, for the stores and the admin API. */
import type { DescribedTool } from '../config/model/described-tool.js';
import { apiOf, originOf, publicPaths } from '../config/model/apis.js';
import type { Config, Operation, PlanConfig, ScopeWords } from '../config/model/schema.js';
import { MAX_LISTED } from '../config/tools/tool.js';
import { missingScopes } from '../keys/scopes.js';

/** Safe methods (RFC 9110 section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const NO_WORDS: ScopeWords = { description: null, group: null, translations: {} };

/** GrantableScope is a scope with the operations that it allows. */
export interface GrantableScope {
  readonly scope: string;
  /** IDs of the operations that need the scope, or that the wildcard includes. */
  readonly operations: readonly string[];
  /** Whether the scope allows operations, and all of them have safe methods. */
  readonly isReadOnly: boolean;
  /** Description from the OpenAPI documents. Null if the documents have none, and for wildcards. */
  readonly description: string | null;
  /**
   * Heading for this scope in lists. Null if the scope has none. `resource:*` has the group of the resource's scopes.
   */
  readonly group: string | null;
  /** Description and group by language. */
  readonly translations: ScopeWords['translations'];
}

/** PublishedOperation is an operation with its public URL. */
export interface PublishedOperation {
  readonly operation: string;
  readonly method: string;
  /** Path at the gateway, such as `/api/v1/customers/{id}`. */
  readonly path: string;
  readonly url: string;
  /** Host names under which the operation is served. Empty for any host. */
  readonly hosts: readonly string[];
  readonly scopes: readonly string[];
}

/** ToolCatalogue describes the MCP server and its tools. */
export interface ToolCatalogue {
  /** Whether MCP is enabled and there is at least one tool. */
  readonly isEnabled: boolean;
  readonly serverName: string;
  /** URL of the MCP server. */
  readonly url: string;
  /** URL of the MCP server for clients that use OAuth instead of a key. Null if OAuth is not configured. */
  readonly oauthUrl: string | null;
  /** Number of all tools, regardless of scopes. */
  readonly total: number;
  /** Whether clients must search for tools, because there are too many tools to list. */
  readonly isSearched: boolean;
  readonly tools: readonly CatalogueTool[];
}

/** CatalogueTool is a tool with its operation. */
export interface CatalogueTool extends Omit<DescribedTool, 'operation'> {
  readonly operation: Operation;
}

export interface NamedPlan {
  readonly name: string;
  readonly limits: PlanConfig;
}

/** Catalogue reads the current configuration on each call, so that reloads apply immediately. */
export class Catalogue {
  constructor(
    private readonly config: () => Pick<Config, 'file' | 'operations' | 'publicUrl' | 'scopeWords' | 'tools'>,
  ) {}

  plans(): readonly NamedPlan[] {
    return Object.entries(this.config().file.plans).map(([name, limits]) => ({ name, limits }));
  }

  /** Returns the limits of a plan, or undefined if the plan does not exist. */
  plan(name: string): PlanConfig | undefined {
    const { plans } = this.config().file;
    return Object.hasOwn(plans, name) ? plans[name] : undefined;
  }

  hasPlan(name: string): boolean {
    return Object.hasOwn(this.config().file.plans, name);
  }

  /** Returns all operations in the order of the documents. */
  publishedOperations(): readonly PublishedOperation[] {
    const { operations, file, publicUrl } = this.config();
    const pathOf = publicPaths(file);
    return operations.map((operation) => {
      const { id, method, scopes, api } = operation;
      const path = pathOf(operation);
      const { hosts } = apiOf(file, api);
      return { operation: id, method, path, url: originOf(file, api, publicUrl) + path, hosts, scopes };
    });
  }

  /**
   * Returns the tools that a key with these scopes can use.
   * @param scopes undefined for all tools
   */
  tools(scopes?: readonly string[]): ToolCatalogue {
    const { tools: all = [], operations, file, publicUrl } = this.config();
    const byId = new Map(operations.map((operation) => [operation.id, operation]));
    const tools = all.flatMap((tool) => {
      const operation = byId.get(tool.operation);
      const isShown =
        operation !== undefined && (scopes === undefined || missingScopes(scopes, operation.scopes).length === 0);
      return isShown ? [{ ...tool, operation }] : [];
    });
    return {
      isEnabled: file.mcp.enabled && all.length > 0,
      serverName: file.mcp.name ?? file.api.title,
      url: `${publicUrl}/mcp`,
      oauthUrl: file.mcp.oauth === undefined ? null : `${file.mcp.oauth.publicUrl}/mcp`,
      total: all.length,
      isSearched: tools.length > MAX_LISTED,
      tools,
    };
  }

  /**
   * Returns all scopes of operations, `resource:*` for each resource, and `*`. Sorted by name, so that each wildcard
   * precedes the scopes that it includes.
   */
  scopes(): readonly GrantableScope[] {
    const words = this.config().scopeWords ?? new Map<string, ScopeWords>();
    const groups = groupsOfResources(words);
    return [...this.operationsByScope()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([scope, allowed]) => {
        const { description, group, translations } = words.get(scope) ?? groups.get(scope) ?? NO_WORDS;
        const operations = [...allowed].map(({ id }) => id);
        const isReadOnly = allowed.size > 0 && [...allowed].every(({ method }) => SAFE_METHODS.has(method));
        return { scope, operations, isReadOnly, description, group, translations };
      });
  }

  /** Returns the scopes of each operation by its ID. */
  scopesOfOperations(): ReadonlyMap<string, readonly string[]> {
    return new Map(this.config().operations.map(({ id, scopes }) => [id, scopes]));
  }

  private operationsByScope(): ReadonlyMap<string, ReadonlySet<Operation>> {
    const operationsByScope = new Map<string, Set<Operation>>();
    for (const operation of this.config().operations) {
      for (const scope of operation.scopes) {
        for (const covering of [scope, allOfResource(scope), '*']) {
          const operations = operationsByScope.get(covering) ?? new Set();
          operationsByScope.set(covering, operations.add(operation));
        }
      }
    }
    if (!operationsByScope.has('*')) operationsByScope.set('*', new Set());
    return operationsByScope;
  }

  /**
   * Returns the positions of unknown scopes, to detect typing errors. A scope is known if an operation requires the
   * scope, or the scope is a wildcard that includes an operation. `*` is always known.
   */
  unknownScopes(scopes: readonly string[]): readonly number[] {
    const known = this.operationsByScope();
    return scopes.flatMap((scope, index) => (known.has(scope) ? [] : [index]));
  }
}

/** Converts `customers:read` to `customers:*`. */
function allOfResource(scope: string): string {
  return `${scope.slice(0, scope.indexOf(':'))}:*`;
}

/** Returns the group of each `resource:*`. The group is that of the resource's first scope with a group. */
function groupsOfResources(words: ReadonlyMap<string, ScopeWords>): Map<string, ScopeWords> {
  const groups = new Map<string, ScopeWords>();
  for (const [scope, { group, translations }] of words) {
    const all = allOfResource(scope);
    if (group === null || groups.has(all)) continue;
    const named = Object.entries(translations).filter(([, translated]) => translated.group !== null);
    const translated = named.map(([language, each]) => [language, { ...each, description: null }] as const);
    groups.set(all, { description: null, group, translations: Object.fromEntries(translated) });
  }
  return groups;
}

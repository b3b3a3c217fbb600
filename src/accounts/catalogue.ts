/**
 * What the running configuration offers to accounts and keys: its plans, and the scopes that its operations ask for.
 */
import type { DescribedTool } from '../config/model/described-tool.js';
import type { Config, Operation, PlanConfig, ScopeWords } from '../config/model/schema.js';
import { MOST_LISTED } from '../config/tools/tool.js';
import { missingScopes } from '../keys/scopes.js';

/** Safe methods (RFC 9110 section 9.2.1). */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

const NO_WORDS: ScopeWords = { description: null, group: null, translations: {} };

/** A scope that a key may be given, and what it opens. */
export interface GrantableScope {
  readonly scope: string;
  /** Ids of the operations that ask for it, or that a wildcard covers. */
  readonly operations: readonly string[];
  /** Whether nothing that it opens changes anything: all of it is GET and HEAD. */
  readonly isReadOnly: boolean;
  /** What it means in plain words; null where no document says it, and for wildcards. */
  readonly description: string | null;
  /** What it stands under; of `resource:*` that of the resource's scopes. */
  readonly group: string | null;
  /** Both in other languages, by the language. */
  readonly translations: ScopeWords['translations'];
}

/** An operation as integrators call it. */
export interface PublishedOperation {
  readonly operation: string;
  readonly method: string;
  /** `/api/v1/customers/{id}` */
  readonly path: string;
  readonly url: string;
  readonly scopes: readonly string[];
}

/** What AI assistants may call, and where. */
export interface ToolCatalogue {
  /** Whether there is an MCP server: it is on, and there is a tool. */
  readonly isEnabled: boolean;
  readonly serverName: string;
  /** Of the server. */
  readonly url: string;
  /** Where assistants that take no key reach it, by OAuth; null: nowhere. */
  readonly oauthUrl: string | null;
  /** How many tools there are, whatever a key may do. */
  readonly total: number;
  /** Whether the tools are searched instead of listed. */
  readonly isSearched: boolean;
  readonly tools: readonly CatalogueTool[];
}

/** A tool, and the operation that it calls. */
export interface CatalogueTool extends Omit<DescribedTool, 'operation'> {
  readonly operation: Operation;
}

export interface NamedPlan {
  readonly name: string;
  readonly limits: PlanConfig;
}

/** Reads the configuration anew on each question, so that a reload is in force at once. */
export class Catalogue {
  constructor(
    private readonly config: () => Pick<Config, 'file' | 'operations' | 'publicUrl' | 'scopeWords' | 'tools'>,
  ) {}

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

  /** Every operation, in the order of the documents. */
  publishedOperations(): readonly PublishedOperation[] {
    const { operations, file, publicUrl } = this.config();
    return operations.map(({ id, method, template, scopes }) => {
      const path = file.api.basePath + template;
      return { operation: id, method, path, url: publicUrl + path, scopes };
    });
  }

  /** The tools that a key with these scopes shows to assistants. @param scopes undefined: all that there are. */
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
      isSearched: tools.length > MOST_LISTED,
      tools,
    };
  }

  /** Every scope of an operation, `resource:*` for each resource, and `*`; sorted, the widest first. */
  scopes(): readonly GrantableScope[] {
    const words = this.config().scopeWords ?? new Map<string, ScopeWords>();
    const groups = groupsOfResources(words);
    return [...this.operationsByScope()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([scope, opened]) => {
        const { description, group, translations } = words.get(scope) ?? groups.get(scope) ?? NO_WORDS;
        const operations = [...opened].map(({ id }) => id);
        const isReadOnly = opened.size > 0 && [...opened].every(({ method }) => READING.has(method));
        return { scope, operations, isReadOnly, description, group, translations };
      });
  }

  /** The scopes that each operation needs, by its id. */
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
   * Positions in `scopes` that no operation knows: a key with a scope of a typing error would fail in production only.
   */
  unknownScopes(scopes: readonly string[]): readonly number[] {
    const known = this.operationsByScope();
    return scopes.flatMap((scope, index) => (known.has(scope) ? [] : [index]));
  }
}

/** `customers:read` → `customers:*` */
function allOfResource(scope: string): string {
  return `${scope.slice(0, scope.indexOf(':'))}:*`;
}

/** The group of each `resource:*`: that of the first of its scopes that has one. */
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

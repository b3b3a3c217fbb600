/**
 * Which operation a request asks for: method and normalised path against the templates of the configuration. What is
 * not configured is not reachable. Built once per configuration, never changed.
 */
import type { Operation } from '../../config/model/schema.js';
import { inTurns } from '../../platform/pace.js';
import { pathSegments } from './path.js';

/** A request's operation, or why there is none. */
export type RouteMatch =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'not_found' }
  /**
   * Somebody else on the same listener may have it: what the gateway answers by itself (`builtIn`, its path below the
   * base path), and all that is not below the base path.
   */
  | { readonly kind: 'not_ours'; readonly builtIn?: string }
  | { readonly kind: 'invalid_path' }
  /** The path exists; `allow` lists its methods, sorted, as the `Allow` field wants them. */
  | { readonly kind: 'method_not_allowed'; readonly allow: string };

interface Node {
  readonly statics: Map<string, Node>;
  /**
   * Lower-case names of `statics`, for finding a path that only a case-insensitive backend would take for one of them.
   */
  readonly lowerCase: Set<string>;
  parameter: Node | undefined;
  methods: Methods | undefined;
}

interface Methods {
  readonly byName: Map<string, RouteMatch>;
  notAllowed: RouteMatch;
  /** Whether one of them takes encoded slashes. */
  takesSlashes: boolean;
}

const NOT_FOUND: RouteMatch = { kind: 'not_found' };
export const NOT_OURS: RouteMatch = { kind: 'not_ours' };
const INVALID_PATH: RouteMatch = { kind: 'invalid_path' };

export class OperationTable {
  private readonly root = createNode();
  /** Paths without parameters, for the common case: one look-up, no splitting. */
  private readonly exact = new Map<string, Methods>();
  /** Whether an operation takes encoded slashes. */
  private takesSlashes = false;

  /** @param builtIn methods by template of paths that the gateway answers itself, such as `/usage`. */
  constructor(operations: readonly Operation[], builtIn: ReadonlyMap<string, readonly string[]> = new Map()) {
    for (const [template, methods] of builtIn) {
      for (const method of methods) this.insert(method, template, { kind: 'not_ours', builtIn: template });
    }
    for (const operation of operations) this.insertOperation(operation);
  }

  /** The same, while requests are served: a large one is built in several turns of the event loop. */
  static async inTurns(
    operations: readonly Operation[],
    builtIn?: ReadonlyMap<string, readonly string[]>,
  ): Promise<OperationTable> {
    const table = new OperationTable([], builtIn);
    await inTurns(operations, (operation) => table.insertOperation(operation));
    return table;
  }

  /** @param path relative to the base path, as received, without the query. */
  match(method: string, path: string): RouteMatch {
    const exact = this.exact.get(path);
    if (exact !== undefined) return methodOf(exact, method);
    const segments = pathSegments(path);
    if (segments === undefined) return this.takesSlashes ? this.matchSlashes(method, path) : INVALID_PATH;
    const node = find(this.root, segments, 0);
    return node?.methods === undefined ? NOT_FOUND : methodOf(node.methods, method);
  }

  /** Matches a refused path once more, for the operations that take encoded slashes. All others refuse it. */
  private matchSlashes(method: string, path: string): RouteMatch {
    const segments = pathSegments(path, true);
    const methods = segments === undefined ? undefined : find(this.root, segments, 0)?.methods;
    if (methods?.takesSlashes !== true) return INVALID_PATH;
    const match = methodOf(methods, method);
    return match.kind === 'operation' && match.operation.takesSlashes !== true ? INVALID_PATH : match;
  }

  private insertOperation(operation: Operation): void {
    this.takesSlashes ||= operation.takesSlashes === true;
    this.insert(operation.method, operation.template, { kind: 'operation', operation });
  }

  private insert(method: string, template: string, match: RouteMatch): void {
    let node = this.root;
    for (const segment of template.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        node = node.parameter ??= createNode();
      } else {
        let next = node.statics.get(segment);
        if (next === undefined) node.statics.set(segment, (next = createNode()));
        node.lowerCase.add(segment.toLowerCase());
        node = next;
      }
    }
    node.methods ??= { byName: new Map(), notAllowed: NOT_FOUND, takesSlashes: false };
    node.methods.takesSlashes ||= match.kind === 'operation' && match.operation.takesSlashes === true;
    node.methods.byName.set(method, match);
    // HEAD is answered wherever GET is (RFC 9110 section 9.3.2), unless it is an operation of its own.
    if (method === 'GET' && !node.methods.byName.has('HEAD')) node.methods.byName.set('HEAD', match);
    const allow = [...node.methods.byName.keys()].toSorted().join(', ');
    node.methods.notAllowed = { kind: 'method_not_allowed', allow };
    if (!template.includes('{')) this.exact.set(template, node.methods);
  }
}

function createNode(): Node {
  return { statics: new Map(), lowerCase: new Set(), parameter: undefined, methods: undefined };
}

function methodOf(methods: Methods, method: string): RouteMatch {
  return methods.byName.get(method) ?? methods.notAllowed;
}

/** Static segments win over parameters; a parameter is never empty. */
function find(node: Node, segments: readonly string[], at: number): Node | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.methods === undefined ? undefined : node;
  const fixed = node.statics.get(segment);
  if (fixed !== undefined) {
    const found = find(fixed, segments, at + 1);
    if (found !== undefined) return found;
    // `/customers/export/x` does not exist here; as `/customers/{id}/x` it would reach what the backend calls export.
    return undefined;
  }
  if (segment === '' || node.parameter === undefined || looksLikeStatic(node, segment)) return undefined;
  return find(node.parameter, segments, at + 1);
}

/**
 * `EXPORT`, `export.json`, `export%20`, `export%3f` or `export%2Fx` beside a static `export`: backends exist that would
 * route it there.
 */
function looksLikeStatic(node: Node, segment: string): boolean {
  if (node.lowerCase.size === 0) return false;
  const lower = segment.trim().toLowerCase();
  if (node.lowerCase.has(lower)) return true;
  for (const name of node.lowerCase) {
    if (name !== '' && lower.startsWith(name) && /[./?#\s]/.test(lower.charAt(name.length))) return true;
  }
  return false;
}

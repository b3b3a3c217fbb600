/**
 * Finds the operation for a method and path among the configured templates. Everything else is unreachable. A table is
 * built once per configuration and never changed.
 */
import type { Operation } from '../../config/model/schema.js';
import { templateShape } from '../../config/openapi/path-template.js';
import { isSegmentPattern, SegmentPattern } from '../../config/openapi/segment-pattern.js';
import { inTurns } from '../../platform/pace.js';
import { pathSegments } from './path.js';

/** The operation of a request, or why there is none. */
export type RouteMatch =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'not_found' }
  /**
   * The path belongs to another handler: one of the gateway's own endpoints (`builtIn`, relative to the base path), or
   * anything outside the base path.
   */
  | { readonly kind: 'not_ours'; readonly builtIn?: string }
  | { readonly kind: 'invalid_path' }
  /** The path exists. `allow` is the value for the `Allow` field: its methods, sorted. */
  | { readonly kind: 'method_not_allowed'; readonly allow: string };

interface Node {
  readonly statics: Map<string, Node>;
  /** Lower-case names of `statics`, to detect paths that a case-insensitive backend would route to one of them. */
  readonly lowerCase: Set<string>;
  /** Segments such as `{id}:archive`. */
  readonly patterns: { readonly pattern: SegmentPattern; readonly node: Node }[];
  parameter: Node | undefined;
  methods: Methods | undefined;
}

interface Methods {
  readonly byName: Map<string, RouteMatch>;
  notAllowed: RouteMatch;
  /** Whether an operation here accepts encoded slashes. */
  takesSlashes: boolean;
}

export const NOT_FOUND: RouteMatch = { kind: 'not_found' };
export const NOT_OURS: RouteMatch = { kind: 'not_ours' };
const INVALID_PATH: RouteMatch = { kind: 'invalid_path' };

export class OperationTable {
  private readonly root = createNode();
  /** Fast path for templates without parameters: one lookup, no splitting. */
  private readonly exact = new Map<string, Methods>();
  /** Whether any operation accepts encoded slashes. */
  private takesSlashes = false;

  /**
   * Builds a table.
   * @param builtIn methods by path of the gateway's own endpoints, such as `/usage`.
   * @param unpublished templates of operations that are left out. No other operation takes their requests.
   */
  constructor(
    operations: readonly Operation[],
    builtIn: ReadonlyMap<string, readonly string[]> = new Map(),
    unpublished: readonly string[] = [],
  ) {
    for (const template of unpublished) this.nodeOf(template);
    for (const [template, methods] of builtIn) {
      for (const method of methods) this.insert(method, template, { kind: 'not_ours', builtIn: template });
    }
    for (const operation of operations) this.insertOperation(operation);
  }

  /** Builds a table over several turns of the event loop, so that requests are served meanwhile. */
  static async inTurns(
    operations: readonly Operation[],
    builtIn?: ReadonlyMap<string, readonly string[]>,
    unpublished: readonly string[] = [],
  ): Promise<OperationTable> {
    const table = new OperationTable([], builtIn);
    await inTurns(unpublished, (template) => void table.nodeOf(template));
    await inTurns(operations, (operation) => table.insertOperation(operation));
    return table;
  }

  /** Matches a request. @param path relative to the base path, as received, without the query. */
  match(method: string, path: string): RouteMatch {
    const exact = this.exact.get(path);
    if (exact !== undefined) return methodOf(exact, method);
    const segments = pathSegments(path);
    if (segments === undefined) return this.takesSlashes ? this.matchSlashes(method, path) : INVALID_PATH;
    const node = find(this.root, segments, path, 0);
    return node?.methods === undefined ? NOT_FOUND : methodOf(node.methods, method);
  }

  /** Matches a rejected path again for operations that accept encoded slashes. All others reject it. */
  private matchSlashes(method: string, path: string): RouteMatch {
    const segments = pathSegments(path, true);
    const methods = segments === undefined ? undefined : find(this.root, segments, path, 0)?.methods;
    if (methods?.takesSlashes !== true) return INVALID_PATH;
    const match = methodOf(methods, method);
    return match.kind === 'operation' && match.operation.takesSlashes !== true ? INVALID_PATH : match;
  }

  private insertOperation(operation: Operation): void {
    this.takesSlashes ||= operation.takesSlashes === true;
    this.insert(operation.method, operation.template, { kind: 'operation', operation });
  }

  /** Returns the node of a template, which it adds where there is none. */
  private nodeOf(template: string): Node {
    let node = this.root;
    for (const segment of template.slice(1).split('/')) {
      if (isSegmentPattern(segment)) node = patternNode(node, new SegmentPattern(templateShape(segment)));
      else if (segment.startsWith('{')) node = node.parameter ??= createNode();
      else {
        let next = node.statics.get(segment);
        if (next === undefined) node.statics.set(segment, (next = createNode()));
        node.lowerCase.add(segment.toLowerCase());
        node = next;
      }
    }
    return node;
  }

  private insert(method: string, template: string, match: RouteMatch): void {
    const node = this.nodeOf(template);
    node.methods ??= { byName: new Map(), notAllowed: NOT_FOUND, takesSlashes: false };
    node.methods.takesSlashes ||= match.kind === 'operation' && match.operation.takesSlashes === true;
    node.methods.byName.set(method, match);
    // HEAD is supported wherever GET is (RFC 9110 section 9.3.2), unless it is configured separately.
    if (method === 'GET' && !node.methods.byName.has('HEAD')) node.methods.byName.set('HEAD', match);
    const allow = [...node.methods.byName.keys()].toSorted().join(', ');
    node.methods.notAllowed = { kind: 'method_not_allowed', allow };
    if (!template.includes('{')) this.exact.set(template, node.methods);
  }
}

function createNode(): Node {
  return { statics: new Map(), lowerCase: new Set(), patterns: [], parameter: undefined, methods: undefined };
}

function methodOf(methods: Methods, method: string): RouteMatch {
  return methods.byName.get(method) ?? methods.notAllowed;
}

/** Finds a node. Static segments win over patterns, and patterns over parameters. A parameter is never empty. */
function find(node: Node, segments: readonly string[], path: string, at: number): Node | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.methods === undefined ? undefined : node;
  const fixed = node.statics.get(segment);
  if (fixed !== undefined) {
    const found = find(fixed, segments, path, at + 1);
    if (found !== undefined) return found;
    // No fallback to the parameter: as `/customers/{id}/x`, the path `/customers/export/x` would reach the backend's
    // `export`.
    return undefined;
  }
  if (segment === '' || looksLikeStatic(node, segment)) return undefined;
  const next = node.patterns.length === 0 ? node.parameter : findPattern(node, segment, path, at);
  return next && find(next, segments, path, at + 1);
}

/**
 * Returns the node of the only pattern that a backend could take a segment for, else the parameter's. None where several
 * fit, or where the backend could read it differently: in another case, or with encoded fixed text such as `1%3Aarchive`.
 */
function findPattern(node: Node, segment: string, path: string, at: number): Node | undefined {
  const [found, ...others] = node.patterns.filter(({ pattern }) => pattern.resembles(segment));
  if (found === undefined) return node.parameter;
  const isExact = found.pattern.matches(segment) && found.pattern.matches(path.split('/')[at + 1] ?? '');
  return others.length === 0 && isExact ? found.node : undefined;
}

function patternNode(node: Node, pattern: SegmentPattern): Node {
  const known = node.patterns.find((each) => each.pattern.segment === pattern.segment);
  if (known !== undefined) return known.node;
  const next = createNode();
  node.patterns.push({ pattern, node: next });
  return next;
}

/**
 * Reports whether some backends would route a segment to a static one: `EXPORT`, `export.json`, `export%20`,
 * `export%3f` or `export%2Fx` beside `export`.
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

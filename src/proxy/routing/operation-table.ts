/**
 * Finds the operation for a method and path among the configured path templates. Requests without an operation are
 * never forwarded. A table is built once per configuration and never changed.
 */
import type { Operation } from '../../config/model/schema.js';
import { templateShape } from '../../config/openapi/path-template.js';
import { isSegmentPattern, SegmentPattern } from '../../config/openapi/segment-pattern.js';
import { inTurns } from '../../platform/pace.js';
import { pathSegments } from './path.js';

/** The operation of a request, or the reason why there is none. */
export type RouteMatch =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'not_found' }
  /**
   * The path is outside the base path, or is one of the gateway's own endpoints. `builtIn` is the path of that
   * endpoint, relative to the base path.
   */
  | { readonly kind: 'not_ours'; readonly builtIn?: string }
  | { readonly kind: 'invalid_path' }
  /** The path exists for other methods. `allow` is the value of the `Allow` field: these methods, sorted. */
  | { readonly kind: 'method_not_allowed'; readonly allow: string };

/** Node of the tree of path segments. */
interface Node {
  /** Children for fixed segments, by segment. */
  readonly statics: Map<string, Node>;
  /**
   * Lower-case names of `statics`, to detect a path that a case-insensitive backend would route to one of these
   * children.
   */
  readonly lowerCase: Set<string>;
  /** Children for segments such as `{id}:archive`. */
  readonly patterns: { readonly pattern: SegmentPattern; readonly node: Node }[];
  /** Child for segments such as `{id}`. */
  parameter: Node | undefined;
  /** Operations at this path; undefined if the path is only a prefix of other paths. */
  methods: Methods | undefined;
}

interface Methods {
  readonly byName: Map<string, RouteMatch>;
  /** Result for all other methods. */
  notAllowed: RouteMatch;
  /** Whether an operation at this path accepts encoded slashes. */
  takesSlashes: boolean;
}

export const NOT_FOUND: RouteMatch = { kind: 'not_found' };
export const NOT_OURS: RouteMatch = { kind: 'not_ours' };
const INVALID_PATH: RouteMatch = { kind: 'invalid_path' };

export class OperationTable {
  private readonly root = createNode();
  /** Methods by template, for templates without parameters. Finds these paths without splitting them. */
  private readonly exact = new Map<string, Methods>();
  /** Whether any operation accepts encoded slashes. */
  private takesSlashes = false;

  /**
   * Builds a table synchronously. `inTurns` builds a table without blocking the event loop.
   * @param builtIn methods by path of the gateway's own endpoints, such as `/usage`.
   * @param unpublished templates of operations that are not published. No other operation receives their requests.
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

  /** Builds a table in several turns of the event loop, so that the process can serve requests meanwhile. */
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

  /** Finds the operation of a request. @param path relative to the base path, as received, without the query. */
  match(method: string, path: string): RouteMatch {
    const exact = this.exact.get(path);
    if (exact !== undefined) return methodOf(exact, method);
    const segments = pathSegments(path);
    if (segments === undefined) return this.takesSlashes ? this.matchSlashes(method, path) : INVALID_PATH;
    const node = find(this.root, segments, path, 0);
    return node?.methods === undefined ? NOT_FOUND : methodOf(node.methods, method);
  }

  /** Matches a path with an encoded slash. Only operations that accept encoded slashes match. */
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

  /** Returns the node of a template. Adds missing nodes. */
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
    // A path that supports GET also supports HEAD (RFC 9110 section 9.3.2). A separate HEAD operation takes precedence.
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

/**
 * Finds the node of a path. Static segments take precedence over patterns, and patterns over parameters. A parameter
 * never matches an empty segment.
 */
function find(node: Node, segments: readonly string[], path: string, at: number): Node | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.methods === undefined ? undefined : node;
  const fixed = node.statics.get(segment);
  if (fixed !== undefined) {
    const found = find(fixed, segments, path, at + 1);
    if (found !== undefined) return found;
    // Don't fall back to the parameter. Otherwise `/customers/export/x` would match `/customers/{id}/x`, but reach the
    // backend's `export`.
    return undefined;
  }
  if (segment === '' || looksLikeStatic(node, segment)) return undefined;
  const next = node.patterns.length === 0 ? node.parameter : findPattern(node, segment, path, at);
  return next && find(next, segments, path, at + 1);
}

/**
 * Returns the node of the pattern that matches a segment, or of the parameter if no pattern resembles the segment.
 * Returns undefined for an ambiguous segment: several patterns resemble it, or a backend could read it differently.
 * Examples of the second case are another letter case, and encoded fixed text such as `1%3Aarchive`.
 */
function findPattern(node: Node, segment: string, path: string, at: number): Node | undefined {
  const [found, ...others] = node.patterns.filter(({ pattern }) => pattern.resembles(segment));
  if (found === undefined) return node.parameter;
  const isExact = found.pattern.matches(segment) && found.pattern.matches(path.split('/')[at + 1] ?? '');
  return others.length === 0 && isExact ? found.node : undefined;
}

/** Returns the child for a pattern. Adds the child if it is missing. */
function patternNode(node: Node, pattern: SegmentPattern): Node {
  const known = node.patterns.find((each) => each.pattern.segment === pattern.segment);
  if (known !== undefined) return known.node;
  const next = createNode();
  node.patterns.push({ pattern, node: next });
  return next;
}

/**
 * Reports whether some backends would route a segment to a static segment. With the static segment `export`, examples
 * are `EXPORT`, `export.json`, `export%20`, `export%3f` and `export%2Fx`.
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

/**
 * Applies the settings of a service that select the published operations of its OpenAPI document and their default
 * scopes.
 */
import { serviceSchema, type DefaultScopes, type OperationSelector } from '../model/service-schema.js';
import { didYouMean, type ConfigProblem } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';
import { templateShape } from './path-template.js';
import { lookUpReference } from './openapi-references.js';
import { isObject, type JsonObject } from './openapi-traversal.js';

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const SELECTOR_KINDS = ['tag', 'path', 'operationId'] as const;
const LIST_NAMES = ['include', 'exclude'] as const;

/**
 * Returns the scopes that a service requires by default for a method. Undefined if the service has no default scopes.
 */
export function defaultScopesOf(scopes: DefaultScopes | undefined, method: string): readonly string[] | undefined {
  if (scopes === undefined || Array.isArray(scopes)) return scopes;
  return READING_METHODS.has(method) ? scopes.read : scopes.write;
}

/**
 * DocumentSettings holds `scopes`, `include` and `exclude` of one service. Invalid settings count as absent, because
 * the schema check reports them.
 */
export class DocumentSettings {
  /** Default scopes of the service. Undefined if the service has no default scopes. */
  readonly scopes: DefaultScopes | undefined;
  private readonly selectors: Readonly<Record<(typeof LIST_NAMES)[number], readonly OperationSelector[] | undefined>>;
  /** Selectors that have matched an operation. */
  private readonly used = new Set<OperationSelector>();
  /** Tags, paths and operation IDs of the document, by kind of selector. Used for "did you mean" suggestions. */
  private readonly names = new Map<string, Set<string>>(SELECTOR_KINDS.map((kind) => [kind, new Set<string>()]));

  /** @param service unvalidated entry of `services` */
  constructor(service: unknown) {
    const { scopes, include, exclude } = serviceSchema.shape;
    const settings = isObject(service) ? service : {};
    this.scopes = scopes.safeParse(settings['scopes']).data;
    this.selectors = {
      include: include.safeParse(settings['include']).data,
      exclude: exclude.safeParse(settings['exclude']).data,
    };
  }

  /** Reports whether an operation is published. Call this method for every operation before `unusedProblems`. */
  publishes(template: string, operation: JsonObject): boolean {
    const tags = Array.isArray(operation['tags']) ? operation['tags'].filter((tag) => typeof tag === 'string') : [];
    const id = operation['operationId'];
    for (const tag of tags) this.names.get('tag')?.add(tag);
    if (typeof id === 'string') this.names.get('operationId')?.add(id);
    this.names.get('path')?.add(template);
    // Evaluate both lists, so that each matching selector is marked as used.
    const [isIncluded, isExcluded] = LIST_NAMES.map((list) => {
      const matching = (this.selectors[list] ?? []).filter((selector) => {
        if ('tag' in selector) return tags.includes(selector.tag);
        if ('operationId' in selector) return selector.operationId === id;
        const [path, selected] = [templateShape(template), templateShape(selector.path)];
        return path === selected || path.startsWith(`${selected.replace(/\/$/, '')}/`);
      });
      for (const selector of matching) this.used.add(selector);
      return matching.length > 0;
    });
    return (this.selectors.include === undefined || isIncluded === true) && isExcluded !== true;
  }

  /**
   * Returns a problem for each selector that matches no operation. A misspelled `exclude` would publish an operation by
   * mistake.
   */
  unusedProblems(service: string, source: SourceDocument): ConfigProblem[] {
    return LIST_NAMES.flatMap((list) =>
      [...(this.selectors[list] ?? []).entries()].flatMap(([index, selector]) => {
        if (this.used.has(selector)) return [];
        const [[kind, name] = ['', '']] = Object.entries(selector);
        const hint = didYouMean(name, this.names.get(kind) ?? []) ?? 'remove it, or name what the document has';
        const message = `no operation of the document has the ${kind} \`${name}\``;
        return [source.problem(['services', service, list, index], message, hint)];
      }),
    );
  }
}

/**
 * Warns if the first URL in `servers` of a document has a path that no target of the service has. The gateway would
 * call the backend without that path.
 * @param service unvalidated entry of `services`
 * @param basePath base path of the API. A document with this path describes the public URL, which is no mistake.
 */
export function serverWarnings(
  document: JsonObject,
  source: SourceDocument,
  service: unknown,
  basePath: string,
): ConfigProblem[] {
  const url = lookUpReference(document, '#/servers/0/url');
  const prefix = typeof url === 'string' ? pathOf(url, lookUpReference(document, '#/servers/0/variables')) : undefined;
  const targets = isObject(service) ? service['targets'] : undefined;
  if (prefix === undefined || prefix === '' || prefix === basePath || !Array.isArray(targets)) return [];
  const paths = targets.map((target) => pathOf(String(target), undefined));
  if (paths.includes(prefix)) return [];
  const message = `puts the paths below \`${prefix}\`, which no target has`;
  const hint = `if the backend wants it, write it behind each target: ${String(targets[0]).replace(/\/$/, '')}${prefix}`;
  return [source.problem(['servers', 0, 'url'], message, hint)];
}

/**
 * Returns the path of a URL without a trailing slash. Replaces server variables with their defaults. Returns undefined
 * if the URL is invalid.
 */
function pathOf(url: string, variables: unknown): string | undefined {
  const filled = url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const variable = isObject(variables) ? variables[name] : undefined;
    return isObject(variable) ? String(variable['default']) : 'x';
  });
  return URL.parse(filled, 'http://relative.invalid')?.pathname.replace(/\/$/, '');
}

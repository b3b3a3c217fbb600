/** Finds the API and the operation of a request, by host name and path. Follows configuration changes. */
import { hostName } from '../config/model/accepted-hosts.js';
import { apisOf } from '../config/model/apis.js';
import type { Config, Operation, UnpublishedPath } from '../config/model/schema.js';
import { BUILT_IN_PATHS, REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';
import { NOT_FOUND, NOT_OURS, OperationTable, type RouteMatch } from '../proxy/routing/operation-table.js';
import { isLocalRequest, type HostedMessage } from './requested-host.js';

/** RoutedRequest holds the parts of a request that determine its API. */
export interface RoutedRequest {
  /** Path of the request as received, with the base path and without the query. */
  readonly path: string;
  readonly message: HostedMessage;
}

/** RoutedApi is an API of the configuration, with the table of its operations. */
interface RoutedApi {
  readonly name: string | undefined;
  readonly basePath: string;
  readonly prefix: string;
  /** Normalized host names. Undefined if the API is served under any name. */
  readonly hosts: ReadonlySet<string> | undefined;
  /**
   * Whether the base path and the root of the reference pages overlap. Unknown paths then go to the reference pages.
   */
  readonly hasPagesBelow: boolean;
  table: OperationTable;
}

export class Routes {
  /** All APIs in configuration order. */
  private readonly apis: readonly RoutedApi[];
  /**
   * All APIs in the order in which they are matched: longer base paths first. With equal base paths, APIs with hosts
   * come first.
   */
  private readonly inMatchingOrder: readonly RoutedApi[];
  private readonly first: RoutedApi;
  /** Whether the only API accepts any host name, as in most installations. */
  private readonly isSingle: boolean;

  constructor(config: Config) {
    this.apis = apisOf(config.file).map(({ name, basePath, hosts }) => {
      const prefix = `${basePath}/`;
      const pages = `${REFERENCE_ROOT}/`;
      return {
        name,
        basePath,
        prefix,
        hosts: hosts.length === 0 ? undefined : new Set(hosts.map(hostName)),
        hasPagesBelow: pages.startsWith(prefix) || prefix.startsWith(pages),
        table: new OperationTable(
          config.operations.filter(belongsTo(name)),
          BUILT_IN_PATHS,
          templatesOf(config.unpublished, name),
        ),
      };
    });
    this.first = this.apis[0]!;
    this.inMatchingOrder = this.apis.toSorted(
      (a, b) => b.prefix.length - a.prefix.length || Number(a.hosts === undefined) - Number(b.hosts === undefined),
    );
    this.isSingle = this.apis.length === 1 && this.first.hosts === undefined;
  }

  /** Base paths of all APIs, without duplicates. They do not change while the process runs. */
  get basePaths(): readonly string[] {
    return [...new Set(this.apis.map(({ basePath }) => basePath))];
  }

  /**
   * Builds the operation tables of a new configuration. Returns a function that activates the tables of all APIs at
   * once.
   */
  async prepare({ operations, unpublished }: Pick<Config, 'operations' | 'unpublished'>): Promise<() => void> {
    const tables: OperationTable[] = [];
    for (const { name } of this.apis) {
      tables.push(
        await OperationTable.inTurns(
          operations.filter(belongsTo(name)),
          BUILT_IN_PATHS,
          templatesOf(unpublished, name),
        ),
      );
    }
    return () => this.apis.forEach((api, at) => (api.table = tables[at]!));
  }

  /**
   * Finds the operation of a request, or the reason why there is none.
   * @param path path as received, with the base path and without the query.
   */
  match(method: string | undefined, path: string, message: HostedMessage): RouteMatch {
    const api = this.isSingle ? this.first : this.apiAt(path, message);
    if (api === undefined) return this.isHidden(path) ? NOT_FOUND : NOT_OURS;
    if (!path.startsWith(api.prefix)) return NOT_OURS;
    const match = api.table.match(method ?? '', path.slice(api.basePath.length));
    return api.hasPagesBelow && match.kind === 'not_found' ? NOT_OURS : match;
  }

  /** Matches the path of an inner call, but only within the API of the expected operation. */
  matchOwn({ api: name, method }: Operation, path: string): RouteMatch {
    const api = this.apiNamed(name);
    return path.startsWith(api.prefix) ? api.table.match(method, path.slice(api.basePath.length)) : NOT_OURS;
  }

  /** Returns the methods that a path supports, as an `Allow` value. Returns undefined if no operation has the path. */
  methodsOf({ path, message }: RoutedRequest): string | undefined {
    const match = this.match('', path, message);
    return match.kind === 'method_not_allowed' ? match.allow : undefined;
  }

  /** Returns the base path of the API to which an operation belongs. */
  basePathOf({ api }: Pick<Operation, 'api'>): string {
    return api === undefined ? this.first.basePath : this.apiNamed(api).basePath;
  }

  /**
   * Returns the index of the API that serves a request, in configuration order. Returns 0 if no API serves the request.
   */
  findApiIndex({ path, message }: RoutedRequest): number {
    return Math.max(0, this.apis.indexOf(this.apiAt(path, message) ?? this.first));
  }

  /** Returns the indexes of the APIs that serve the host of a request, in configuration order. */
  findApiIndexes(message: HostedMessage): readonly number[] {
    return this.apis.flatMap((api, at) => (servesHost(api, message) || isLocalRequest(message) ? [at] : []));
  }

  /**
   * Returns the host names of each API that can serve a path, in matching order. The host of a request decides between
   * several entries. The last entry is undefined if its API serves all other hosts.
   */
  hostsAt(path: string): readonly (ReadonlySet<string> | undefined)[] {
    const apis = this.inMatchingOrder.filter(({ prefix }) => path.startsWith(prefix));
    const anyHost = apis.findIndex(({ hosts }) => hosts === undefined);
    return apis.slice(0, anyHost === -1 ? undefined : anyHost + 1).map(({ hosts }) => hosts);
  }

  private apiNamed(name: string | undefined): RoutedApi {
    return this.apis.find((api) => api.name === name) ?? this.first;
  }

  private apiAt(path: string, message: HostedMessage): RoutedApi | undefined {
    const apis = this.inMatchingOrder;
    const api = apis.find((each) => path.startsWith(each.prefix) && servesHost(each, message));
    if (api !== undefined || !isLocalRequest(message)) return api;
    return apis.find(({ prefix }) => path.startsWith(prefix));
  }

  /**
   * Reports whether a path belongs to an API. If no API matched the request, that API is not served under the requested
   * host.
   */
  private isHidden(path: string): boolean {
    return this.apis.some(({ prefix }) => path.startsWith(prefix));
  }
}

/** Reports whether an API serves the requested host. */
function servesHost({ hosts }: RoutedApi, { headers: { host } }: HostedMessage): boolean {
  if (hosts === undefined) return true;
  return host !== undefined && hosts.has(hostName(host));
}

function belongsTo(name: string | undefined): (of: { readonly api?: string }) => boolean {
  return ({ api }) => api === name;
}

function templatesOf(paths: readonly UnpublishedPath[], name: string | undefined): string[] {
  return paths.filter(belongsTo(name)).map(({ template }) => template);
}

/** Finds the operations of the current configuration by host name and request path. */
import { hostName } from '../config/model/accepted-hosts.js';
import { isLoopbackHost } from '../config/model/address-values.js';
import { apisOf } from '../config/model/apis.js';
import type { Config, Operation, UnpublishedPath } from '../config/model/schema.js';
import { BUILT_IN_PATHS, REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';
import { NOT_FOUND, NOT_OURS, OperationTable, type RouteMatch } from '../proxy/routing/operation-table.js';

/** The fields of a request, of which `Host` matters. */
export interface HostedMessage {
  readonly headers: { readonly host?: string | undefined };
}

/** RoutedRequest holds the parts of a request that decide which API it is for. */
export interface RoutedRequest {
  /** Path as received, with the base path and without the query. */
  readonly path: string;
  readonly message: HostedMessage;
}

/** An API with its operations. */
interface RoutedApi {
  readonly name: string | undefined;
  readonly basePath: string;
  readonly prefix: string;
  /** Normalized host names. Undefined: any. */
  readonly hosts: ReadonlySet<string> | undefined;
  /** Whether pages of the API reference and operations share a path prefix. */
  readonly hasPagesBelow: boolean;
  table: OperationTable;
}

export class Routes {
  /** In order of the configuration. */
  private readonly apis: readonly RoutedApi[];
  /** APIs that are served under any name come last. */
  private readonly byHost: readonly RoutedApi[];
  private readonly first: RoutedApi;
  /** Whether there is one API, for any host name. Most installations have no other. */
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
          config.operations.filter(isOf(name)),
          BUILT_IN_PATHS,
          templatesOf(config.unpublished, name),
        ),
      };
    });
    this.first = this.apis[0]!;
    this.byHost = [true, false].flatMap((isNamed) =>
      this.apis.filter(({ hosts }) => (hosts !== undefined) === isNamed),
    );
    this.isSingle = this.apis.length === 1 && this.first.hosts === undefined;
  }

  /** All base paths, each once. They do not change. */
  get basePaths(): readonly string[] {
    return [...new Set(this.apis.map(({ basePath }) => basePath))];
  }

  /** Builds the tables for new operations. Returns a function that puts them into use. */
  async prepare({ operations, unpublished }: Pick<Config, 'operations' | 'unpublished'>): Promise<() => void> {
    const tables: OperationTable[] = [];
    for (const { name } of this.apis) {
      const own = this.apis.length === 1 ? operations : operations.filter(isOf(name));
      tables.push(await OperationTable.inTurns(own, BUILT_IN_PATHS, templatesOf(unpublished, name)));
    }
    return () => this.apis.forEach((api, at) => (api.table = tables[at]!));
  }

  /**
   * Matches a request.
   * @param path as received, with the base path and without the query.
   * @param message fields of the request. Without `Host` every API is looked at, as for previews.
   */
  match(method: string | undefined, path: string, message?: HostedMessage): RouteMatch {
    const api = this.isSingle ? this.first : this.apiAt(path, message?.headers.host);
    if (api === undefined) return this.isHidden(path) ? NOT_FOUND : NOT_OURS;
    if (!path.startsWith(api.prefix)) return NOT_OURS;
    const match = api.table.match(method ?? '', path.slice(api.basePath.length));
    return api.hasPagesBelow && match.kind === 'not_found' ? NOT_OURS : match;
  }

  /** Matches a call that the gateway makes itself, in the API of the operation. */
  matchOwn({ api: name, method }: Operation, path: string): RouteMatch {
    const api = this.apiNamed(name);
    return path.startsWith(api.prefix) ? api.table.match(method, path.slice(api.basePath.length)) : NOT_OURS;
  }

  /** Returns the methods of a path as an `Allow` value, or undefined if the path does not exist. */
  methodsOf({ path, message }: RoutedRequest): string | undefined {
    const match = this.match('', path, message);
    return match.kind === 'method_not_allowed' ? match.allow : undefined;
  }

  /** Returns the base path of an operation. */
  basePathOf({ api }: Pick<Operation, 'api'>): string {
    return api === undefined ? this.first.basePath : this.apiNamed(api).basePath;
  }

  /** Returns the position of the API that a request is for; the first, if it is for none. */
  positionOf({ path, message }: RoutedRequest): number {
    return Math.max(0, this.apis.indexOf(this.apiAt(path, message.headers.host) ?? this.first));
  }

  /** Returns the positions of the APIs that are served under a host name. */
  positionsAt(host: string | undefined): readonly number[] {
    return this.apis.flatMap((api, at) => (servesHost(api, host) ? [at] : []));
  }

  private apiNamed(name: string | undefined): RoutedApi {
    return this.apis.find((api) => api.name === name) ?? this.first;
  }

  private apiAt(path: string, host: string | undefined): RoutedApi | undefined {
    return this.byHost.find((api) => path.startsWith(api.prefix) && servesHost(api, host));
  }

  /** Reports whether the path is that of an API that is not served under the name. */
  private isHidden(path: string): boolean {
    return this.apis.some(({ prefix }) => path.startsWith(prefix));
  }
}

/** Programs on this machine may use loopback names for every API. The entrance refuses them from elsewhere. */
function servesHost({ hosts }: RoutedApi, host: string | undefined): boolean {
  if (hosts === undefined || host === undefined) return true;
  const name = hostName(host);
  return hosts.has(name) || isLoopbackHost(name);
}

function isOf(name: string | undefined): (of: { readonly api?: string }) => boolean {
  return ({ api }) => api === name;
}

function templatesOf(paths: readonly UnpublishedPath[], name: string | undefined): string[] {
  return paths.filter(isOf(name)).map(({ template }) => template);
}

/** Finds the operations of the current configuration by request path. */
import type { Config } from '../config/model/schema.js';
import { BUILT_IN_PATHS, REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';
import { NOT_OURS, OperationTable, type RouteMatch } from '../proxy/routing/operation-table.js';

export class Routes {
  private table: OperationTable;
  readonly basePath: string;
  private readonly prefix: string;
  /** Whether pages of the API reference and operations share a path prefix. */
  private readonly hasPagesBelow: boolean;

  constructor(config: Config) {
    this.basePath = config.file.api.basePath;
    this.prefix = `${this.basePath}/`;
    const pages = `${REFERENCE_ROOT}/`;
    this.hasPagesBelow = pages.startsWith(this.prefix) || this.prefix.startsWith(pages);
    this.table = new OperationTable(config.operations, BUILT_IN_PATHS, config.unpublished);
  }

  /** Builds the table for new operations. Returns a function that puts it into use. The base path does not change. */
  async prepare({ operations, unpublished }: Pick<Config, 'operations' | 'unpublished'>): Promise<() => void> {
    const table = await OperationTable.inTurns(operations, BUILT_IN_PATHS, unpublished);
    return () => void (this.table = table);
  }

  /** Matches a request. @param path as received, with the base path and without the query. */
  match(method: string | undefined, path: string): RouteMatch {
    if (!path.startsWith(this.prefix)) return NOT_OURS;
    const match = this.table.match(method ?? '', path.slice(this.basePath.length));
    return this.hasPagesBelow && match.kind === 'not_found' ? NOT_OURS : match;
  }

  /** Returns the methods of a path as an `Allow` value, or undefined if the path does not exist. */
  methodsOf({ path }: { readonly path: string }): string | undefined {
    if (!path.startsWith(this.prefix)) return undefined;
    const match = this.table.match('', path.slice(this.basePath.length));
    return match.kind === 'method_not_allowed' ? match.allow : undefined;
  }

  /** Returns the path and query for the backend, without the base path. */
  backendPath({ url }: { readonly url: string }): string {
    return url.slice(this.basePath.length);
  }
}

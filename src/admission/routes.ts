/** The operations of the running configuration, by the path under which the outside asks for them. */
import type { Config } from '../config/model/schema.js';
import { BUILT_IN_PATHS, REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';
import { NOT_OURS, OperationTable, type RouteMatch } from '../proxy/routing/operation-table.js';

export class Routes {
  private table: OperationTable;
  readonly basePath: string;
  private readonly prefix: string;
  /** Pages of the reference stand among the operations. */
  private readonly hasPagesBelow: boolean;

  constructor(config: Config) {
    this.basePath = config.file.api.basePath;
    this.prefix = `${this.basePath}/`;
    const pages = `${REFERENCE_ROOT}/`;
    this.hasPagesBelow = pages.startsWith(this.prefix) || this.prefix.startsWith(pages);
    this.table = new OperationTable(config.operations, BUILT_IN_PATHS);
  }

  /** Makes these operations ready; they are found from the call of what it resolves with on. The base path stays. */
  async prepare({ operations }: Pick<Config, 'operations'>): Promise<() => void> {
    const table = await OperationTable.inTurns(operations, BUILT_IN_PATHS);
    return () => void (this.table = table);
  }

  /** What a path leads to. @param path with the base path, as received, without the query. */
  match(method: string | undefined, path: string): RouteMatch {
    if (!path.startsWith(this.prefix)) return NOT_OURS;
    const match = this.table.match(method ?? '', path.slice(this.basePath.length));
    return this.hasPagesBelow && match.kind === 'not_found' ? NOT_OURS : match;
  }

  /** The methods of a path, as `Allow` lists them; undefined where nothing is there. */
  methodsOf({ path }: { readonly path: string }): string | undefined {
    if (!path.startsWith(this.prefix)) return undefined;
    const match = this.table.match('', path.slice(this.basePath.length));
    return match.kind === 'method_not_allowed' ? match.allow : undefined;
  }

  /** Path and query below the base path: what a backend is asked for. */
  backendPath({ url }: { readonly url: string }): string {
    return url.slice(this.basePath.length);
  }
}

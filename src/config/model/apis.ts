/** The APIs of a configuration: `apis`, or the single one of `api`. */
import type { GatewayFile } from './schema.js';

/** An API: the operations below a base path, with their description and life cycle. */
export type ApiConfig = GatewayFile['api'] & {
  /** Name in `apis`. Undefined if it is the first. */
  readonly name?: string;
  /** Host names under which it is served; empty: any. */
  readonly hosts: readonly string[];
};

/** Returns all APIs in order. There is at least one. */
export function apisOf({ api, apis }: Pick<GatewayFile, 'api' | 'apis'>): readonly ApiConfig[] {
  if (apis === undefined) return [{ ...api, hosts: [] }];
  return apis.map(({ name, ...rest }, at) => (at === 0 ? rest : { name, ...rest }));
}

/** Returns the API of an operation. @param name `Operation.api`; one that does not exist is taken for the first. */
export function apiOf(file: Pick<GatewayFile, 'api' | 'apis'>, name: string | undefined): ApiConfig {
  const apis = apisOf(file);
  return apis.find((api) => api.name === name) ?? apis[0]!;
}

/** Returns the public path of each operation. */
export function publicPaths(
  file: Pick<GatewayFile, 'api' | 'apis'>,
): (operation: { readonly api?: string; readonly template: string }) => string {
  const prefixes = new Map(apisOf(file).map(({ name, basePath }) => [name, basePath]));
  return ({ api, template }) => (prefixes.get(api) ?? '') + template;
}

/**
 * Returns the public origin of an API.
 * @param publicUrl that of the installation
 */
export function originOf(file: Pick<GatewayFile, 'api' | 'apis'>, name: string | undefined, publicUrl: string): string {
  const own = name === undefined ? undefined : apiOf(file, name).publicUrl;
  return own?.replace(/\/$/, '') ?? publicUrl;
}

/** Returns the ID as in the document of the operation's API, without the name of the API. */
export function ownId({ id, api }: { readonly id: string; readonly api?: string }): string {
  return api === undefined ? id : id.slice(api.length + 1);
}

/** Looks up the APIs of a configuration, which are the entries of `apis` or the single API of `api`. */
import type { GatewayFile } from './schema.js';

/** An API with its description and life cycle. It contains the operations below its base path. */
export type ApiConfig = GatewayFile['api'] & {
  /** Name in `apis`. Undefined for the first API. */
  readonly name?: string;
  /** Host names under which the API is served. Empty if the API accepts any host name. */
  readonly hosts: readonly string[];
};

/** Returns all APIs in the order of the file. The list has at least one API. */
export function apisOf({ api, apis }: Pick<GatewayFile, 'api' | 'apis'>): readonly ApiConfig[] {
  if (apis === undefined) return [{ ...api, hosts: [] }];
  return apis.map(({ name, ...rest }, at) => (at === 0 ? rest : { name, ...rest }));
}

/**
 * Returns the API of an operation. Falls back to the first API if no API has the name.
 * @param name `Operation.api`
 */
export function apiOf(file: Pick<GatewayFile, 'api' | 'apis'>, name: string | undefined): ApiConfig {
  const apis = apisOf(file);
  return apis.find((api) => api.name === name) ?? apis[0]!;
}

/** Returns a function that maps an operation to its public path, which includes the base path of its API. */
export function publicPaths(
  file: Pick<GatewayFile, 'api' | 'apis'>,
): (operation: { readonly api?: string; readonly template: string }) => string {
  const prefixes = new Map(apisOf(file).map(({ name, basePath }) => [name, basePath]));
  return ({ api, template }) => (prefixes.get(api) ?? '') + template;
}

/**
 * Returns the public origin of an API, without a trailing slash.
 * @param name name of the API; undefined for the first API
 * @param publicUrl public origin of the installation, for APIs without their own `publicUrl`
 */
export function originOf(file: Pick<GatewayFile, 'api' | 'apis'>, name: string | undefined, publicUrl: string): string {
  const apiUrl = name === undefined ? undefined : apiOf(file, name).publicUrl;
  return apiUrl?.replace(/\/$/, '') ?? publicUrl;
}

/** Returns the operation ID as in the document of the API, without the API name as a prefix. */
export function ownId({ id, api }: { readonly id: string; readonly api?: string }): string {
  return api === undefined ? id : id.slice(api.length + 1);
}

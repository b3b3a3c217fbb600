/** Defines how the API reference pages find the API that a request is for, by base path and host name. */

/** Nest injection token of `ApiLocator`. */
export const API_LOCATOR = Symbol('API locator');

/** HostedMessage has the parts of a request that decide which API serves the request. */
interface HostedMessage {
  readonly headers: { readonly host?: string | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** ApiLocator finds the APIs of a request. Indexes are positions of APIs in the configuration. */
export interface ApiLocator {
  /** Base paths of all APIs, each once. */
  readonly basePaths: readonly string[];
  /** Returns the index of the API that a request is for. */
  findApiIndex(request: { readonly path: string; readonly message: HostedMessage }): number;
  /** Returns the indexes of the APIs that serve the host of a request. */
  findApiIndexes(message: HostedMessage): readonly number[];
}

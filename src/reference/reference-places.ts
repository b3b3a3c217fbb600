/** Defines how the API reference pages find the API that a request is for, by base path and host name. */

/** Nest injection token of `ReferencePlaces`. */
export const REFERENCE_PLACES = Symbol('places of the APIs');

/** PlacedMessage has the parts of a request that decide which API serves the request. */
interface PlacedMessage {
  readonly headers: { readonly host?: string | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** ReferencePlaces finds the APIs of a request. Positions are indexes of APIs in the configuration. */
export interface ReferencePlaces {
  /** Base paths of all APIs, each once. */
  readonly basePaths: readonly string[];
  /** Returns the position of the API that a request is for. */
  positionOf(request: { readonly path: string; readonly message: PlacedMessage }): number;
  /** Returns the positions of the APIs that serve the host of a request. */
  positionsAt(message: PlacedMessage): readonly number[];
}

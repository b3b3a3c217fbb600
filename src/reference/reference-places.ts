/** Base paths and host names of the configured APIs, by which the reference finds the API of a request. */

/** Injection token of `ReferencePlaces`. */
export const REFERENCE_PLACES = Symbol('places of the APIs');

/** The parts of a message that decide which API serves it. */
interface PlacedMessage {
  readonly headers: { readonly host?: string | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Positions are indexes of APIs in the configuration. */
export interface ReferencePlaces {
  /** Base paths of all APIs, each once. */
  readonly basePaths: readonly string[];
  /** Returns the position of the API that a request is for. */
  positionOf(request: { readonly path: string; readonly message: PlacedMessage }): number;
  /** Returns the positions of the APIs that serve the host of a request. */
  positionsAt(message: PlacedMessage): readonly number[];
}

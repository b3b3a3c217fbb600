/** Base paths and host names of the configured APIs, by which the reference finds the API of a request. */

/** Injection token of `ReferencePlaces`. */
export const REFERENCE_PLACES = Symbol('places of the APIs');

/** Positions are indexes of APIs in the configuration. */
export interface ReferencePlaces {
  /** Base paths of all APIs, each once. */
  readonly basePaths: readonly string[];
  /** Returns the position of the API that a request is for. */
  positionOf(request: {
    readonly path: string;
    readonly message: { readonly headers: { readonly host?: string | undefined } };
  }): number;
  /**
   * Returns the positions of the APIs that are served under a host name.
   * @param host value of the Host header
   */
  positionsAt(host: string | undefined): readonly number[];
}

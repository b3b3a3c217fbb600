/** Paths and hosts of the APIs, for the reference. */

/** Injection token of the places. */
export const REFERENCE_PLACES = Symbol('places of the APIs');

export interface ReferencePlaces {
  /** Base paths, each once. */
  readonly basePaths: readonly string[];
  /** Returns the position of the API that a request is for. */
  positionOf(request: {
    readonly path: string;
    readonly message: { readonly headers: { readonly host?: string | undefined } };
  }): number;
  /** Returns the positions of the APIs that are served under a host name. */
  positionsAt(host: string | undefined): readonly number[];
}

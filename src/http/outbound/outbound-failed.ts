/** A connection or a response that did not come about, by no refusal of ours. */

/** Why. Part of the API: a reason never changes its meaning. */
export type FailureReason =
  | 'name_not_found'
  | 'name_unresolved'
  | 'connect_failed'
  | 'connect_timeout'
  | 'tls_failed'
  | 'connection_closed'
  | 'response_timeout'
  | 'malformed_response'
  | 'head_too_large';

/** OutboundFailed says what went wrong at the other end, or on the way to it. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed';

  /** @param code of the system, of TLS or of the parser, as `ECONNREFUSED`. */
  constructor(
    readonly reason: FailureReason,
    readonly code?: string,
  ) {
    super(code === undefined ? reason : `${reason} (${code})`);
  }
}

/** The code of an error, where it has one. */
export function codeOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/**
 * Errors of outbound requests that failed at the receiver or on the network. For destinations that the gateway refuses,
 * see `outbound-refused.ts`.
 */

/** Reason of a failure. Part of the API: a reason never changes its meaning. */
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

/** OutboundFailed is the failure of an outbound request. */
export class OutboundFailed extends Error {
  override readonly name = 'OutboundFailed';

  /** @param code error code of the system, of TLS or of the HTTP parser, such as `ECONNREFUSED`. */
  constructor(
    readonly reason: FailureReason,
    readonly code?: string,
  ) {
    super(code === undefined ? reason : `${reason} (${code})`);
  }
}

/** Returns the `code` of an error, if it has one. */
export function codeOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

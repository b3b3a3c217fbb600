/**
 * Defines the errors of outbound requests that failed at the receiver or on the network. For destinations that the
 * gateway refuses, see `outbound-refused.ts`.
 */

/** FailureReason is the reason of a failure. Reasons are part of the API, so their meaning must never change. */
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

/** OutboundFailed is thrown when an outbound request fails. */
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

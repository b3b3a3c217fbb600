/** Hop-by-hop fields (RFC 9110 section 7.6.1), never passed on in either direction. Lower case. */
export const HOP_BY_HOP_FIELDS = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/**
 * Fields that identify the caller to a backend. Only the gateway sets them, and they are removed from responses. Lower
 * case.
 */
export const IDENTITY_FIELDS = ['x-request-id', 'x-account-id', 'x-api-key-id', 'x-api-scopes'] as const;

/**
 * Fields that speak to the next hop only and are never passed on, in either direction
 * (RFC 9110 section 7.6.1). Lower case.
 */
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

/** Fields that tell a backend who is calling: only we may set them, and no client gets to see them. Lower case. */
export const IDENTITY_FIELDS = ['x-request-id', 'x-account-id', 'x-api-key-id', 'x-api-scopes'] as const;

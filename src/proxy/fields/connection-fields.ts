/** Names of hop-by-hop fields (RFC 9110 section 7.6.1) in lower case. The gateway never forwards these fields. */
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
 * Names of the request fields that identify the caller to a backend, in lower case. The gateway sets these fields, and
 * removes them from client requests and backend responses.
 */
export const IDENTITY_FIELDS = ['x-request-id', 'x-account-id', 'x-api-key-id', 'x-api-scopes'] as const;

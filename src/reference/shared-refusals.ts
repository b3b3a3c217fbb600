/** Defines the response headers and error responses of public operations, for the public OpenAPI document. */
import type { ErrorCode } from '../platform/problems/errors.js';
import { DELTA_SECONDS } from '../platform/problems/problem-schema.js';
import { LONGEST_WAIT_MS } from '../platform/problems/retry-after.js';
import { COUNT } from './usage-schema.js';

/** Response headers by component name. */
export const HEADERS: Readonly<Record<string, { description: string; schema: unknown; example: unknown }>> = {
  'X-Request-Id': {
    description: 'Names this request. Quote it when you ask for help.',
    schema: { type: 'string', maxLength: 128 },
    example: 'req_4fzvT1mYwq8C',
  },
  RateLimit: {
    description:
      'What is left, for each policy: `r` requests remain, and more become available in `t` seconds ' +
      '(draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', maxLength: 1024 },
    example: '"key-minute";r=58;t=42, "account-month";r=9873;t=911541',
  },
  'RateLimit-Policy': {
    description: 'The limits in force: quota `q` in a window of `w` seconds.',
    schema: { type: 'string', maxLength: 1024 },
    example: '"key-minute";q=60;w=60, "account-month";q=10000;w=2592000',
  },
  'X-RateLimit-Limit': {
    description: 'Quota of the limit that is closest to being used up.',
    schema: COUNT,
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests that remain of that limit.',
    schema: COUNT,
    example: 58,
  },
  'X-RateLimit-Reset': {
    description: 'Seconds until more requests of that limit become available. On an error only up to an hour.',
    schema: DELTA_SECONDS,
    example: 42,
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try; at most an hour.',
    schema: { ...DELTA_SECONDS, maximum: LONGEST_WAIT_MS / 1_000 },
    example: 17,
  },
  'X-Should-Retry': {
    description:
      'Whether a library is to wait and try again by itself: `false` once the month is used up, and where a POST ' +
      'or PATCH may have had its effect.',
    schema: { type: 'boolean' },
    example: true,
  },
  'WWW-Authenticate': {
    description: 'How to authenticate, and what was wrong (RFC 6750).',
    schema: { type: 'string', maxLength: 1024 },
    example: 'Bearer realm="api", error="invalid_token"',
  },
  Allow: {
    description: 'The methods that this path supports.',
    schema: { type: 'string', maxLength: 256 },
    example: 'GET, HEAD',
  },
};

/** Response headers of requests with an `Idempotency-Key`. */
export const KEYED_HEADERS: typeof HEADERS = {
  'Idempotent-Replayed': {
    description: 'The response of an earlier request with this `Idempotency-Key` is replayed.',
    schema: { type: 'boolean' },
    example: true,
  },
  'Idempotency-Stored': {
    description:
      '`false`: the request was carried out, and its response could not be kept. Sent again with its ' +
      '`Idempotency-Key`, it is refused, and not carried out again.',
    schema: { type: 'boolean' },
    example: false,
  },
};

/** The `Idempotency-Key` parameter. It has no example, because copied samples would repeat the same key. */
export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A UUID of your own for this request. A repeat with the same key is not carried out again: it gets the first ' +
    'response, at no cost.',
  schema: {
    type: 'string',
    maxLength: 257,
    pattern: '^(?:"[ !#-\\[\\]-~]{1,255}"|[!#-~](?:[ !#-~]{0,253}[!#-~])?)$',
  },
};

/** Headers that say whether and when to retry. */
const RETRY_HEADERS = ['Retry-After', 'X-Should-Retry'];

/** Headers with the limits and the remaining requests. */
export const LIMIT_HEADERS = [
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Refusal is an error response of the OpenAPI document. */
interface Refusal {
  /** Name of the component. */
  readonly name: string;
  readonly description: string;
  /** Error code in the example. */
  readonly code: ErrorCode;
  /** Headers in addition to `X-Request-Id`. */
  readonly headers: readonly string[];
}

/** Error responses of operations that accept an `Idempotency-Key`, by status. */
export const KEYED_REFUSALS: Readonly<Record<string, Refusal>> = {
  '409': {
    name: 'IdempotencyConflict',
    description:
      'The first request with this `Idempotency-Key` is still in progress, its result is unknown, or its response was ' +
      'not stored. This request was not carried out.',
    code: 'idempotency_in_progress',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  '422': {
    name: 'IdempotencyMismatch',
    description: 'The `Idempotency-Key` was sent with another request before. Nothing was done.',
    code: 'idempotency_mismatch',
    headers: [...LIMIT_HEADERS, 'X-Should-Retry'],
  },
};

/** Error responses of every operation, by status. A documented response of the operation takes precedence. */
export const REFUSALS: Readonly<Record<string, Refusal>> = {
  '400': {
    name: 'BadRequest',
    description: 'The request is malformed.',
    code: 'bad_request',
    headers: [...LIMIT_HEADERS, 'WWW-Authenticate'],
  },
  '401': {
    name: 'Unauthorized',
    description: 'The API key is missing, not valid, expired or revoked.',
    code: 'invalid_api_key',
    headers: ['WWW-Authenticate'],
  },
  '403': {
    name: 'Forbidden',
    description:
      'The API key is paused, lacks a scope, is used from an address that it does not allow, or its account is ' +
      'suspended; or the request came in clear text.',
    code: 'insufficient_scope',
    headers: [...LIMIT_HEADERS, 'WWW-Authenticate', 'X-Should-Retry'],
  },
  '404': {
    name: 'NotFound',
    description: 'There is nothing here.',
    code: 'resource_not_found',
    headers: LIMIT_HEADERS,
  },
  '405': {
    name: 'MethodNotAllowed',
    description: 'The path exists, but not with this method.',
    code: 'method_not_allowed',
    headers: ['Allow'],
  },
  '413': {
    name: 'ContentTooLarge',
    description: 'The request body is too large.',
    code: 'content_too_large',
    headers: LIMIT_HEADERS,
  },
  '429': {
    name: 'TooManyRequests',
    description:
      'A limit is used up; nothing was counted for this request. Wait for `Retry-After` seconds. Without it ' +
      'waiting does not help: `resets_at` says when a used-up month is over.',
    code: 'rate_limited',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  '500': {
    name: 'InternalError',
    description: 'Something failed on our side.',
    code: 'internal_error',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  '502': {
    name: 'BadGateway',
    description: 'A part of our system returned no usable response. The request was not counted.',
    code: 'backend_unreachable',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  '503': {
    name: 'ServiceUnavailable',
    description: 'A part of our system is unavailable. The request was not counted.',
    code: 'backend_unavailable',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  '504': {
    name: 'GatewayTimeout',
    description:
      'A part of our system did not answer in time. The request was not counted, but it may have had its effect.',
    code: 'backend_timeout',
    headers: [...LIMIT_HEADERS, ...RETRY_HEADERS],
  },
  default: {
    name: 'OtherError',
    description: 'Any other error, such as 408, 410, 414 or 431; in the same form.',
    code: 'uri_too_long',
    headers: LIMIT_HEADERS,
  },
};

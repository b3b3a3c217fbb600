/** Defines the response headers and problem responses that operations of the admin API share. */
import { ERRORS, type ErrorCode } from '../../platform/problems/errors.js';
import { DELTA_SECONDS } from '../../platform/problems/problem-schema.js';
import type { Json } from './openapi-schemas.js';

/**
 * Response headers by name. The `X-RateLimit-*` headers describe the request limit of the caller, which
 * `caller-limits.ts` sets.
 */
export const HEADERS = {
  'X-Request-Id': {
    description: 'ID of this request, as in the logs and the audit log.',
    schema: { type: 'string', maxLength: 128 },
    example: 'req_1d2m3kx9v7c4e5f6g7h8j9k0m',
  },
  'X-RateLimit-Limit': {
    description: 'Requests per minute that the caller can make.',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 1_000_000 },
    example: 1200,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left in the current minute.',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 1_000_000 },
    example: 1198,
  },
  'X-RateLimit-Reset': { description: 'Seconds until the limit resets.', schema: DELTA_SECONDS, example: 42 },
  'Retry-After': { description: 'Seconds to wait before a retry.', schema: DELTA_SECONDS, example: 2 },
  'WWW-Authenticate': {
    description: 'Authentication scheme, and why the credentials were rejected (RFC 6750).',
    schema: { type: 'string', maxLength: 1024 },
    example: 'Bearer realm="trailgate-admin"',
  },
  Link: {
    description: 'Next page, as `<path>; rel="next"` (RFC 8288). Omitted on the last page.',
    schema: { type: 'string', maxLength: 8192 },
    example: '</admin/v1/accounts?limit=20&cursor=WzEsImFjY291bnRzIl0>; rel="next"',
  },
  ETag: {
    description: 'Version of the resource, for `If-Match` and `If-None-Match`.',
    schema: { type: 'string', maxLength: 100 },
    example: '"7.q2hX0s8dYw1B"',
  },
  'Idempotent-Replayed': {
    description: '`true` if this repeats the response to an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  Location: {
    description: 'Path of the created resource.',
    schema: { type: 'string', format: 'uri-reference', maxLength: 2048 },
    example: '/admin/v1/accounts/acc_1d2m3kx9v7c4e5f6g7h8j9k0m',
  },
} as const;

const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;
/** Additional headers of error responses, by status. */
const MORE_HEADERS: Readonly<Record<number, readonly (keyof typeof HEADERS)[]>> = {
  400: ['WWW-Authenticate'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns references to the headers of every response, and to the headers in `more`. */
export function headerReferences(more: readonly (keyof typeof HEADERS)[] = []): Json {
  const names = ['X-Request-Id', ...LIMIT_HEADERS, ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/**
 * Returns a response for each status of the codes, and a default response for requests that are rejected before their
 * operation is known.
 */
export function problemResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus: Record<string, Json> = {};
  for (const { status } of codes.map((code) => ERRORS[code]).toSorted((a, b) => a.status - b.status)) {
    const own = [...new Set(codes)].filter((code) => ERRORS[code].status === status);
    const description = own.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' ');
    byStatus[status] ??= problemResponse(description, MORE_HEADERS[status]);
  }
  return { ...byStatus, default: { $ref: '#/components/responses/OtherError' } };
}

/** Responses to requests that are rejected before their operation is known. */
export const SHARED_RESPONSES = {
  get OtherError(): Json {
    return problemResponse('Any other error in the same format, such as 408, 413, 414 or 431.');
  },
};

function problemResponse(description: string, more: readonly (keyof typeof HEADERS)[] = []): Json {
  return {
    description,
    headers: headerReferences(more),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

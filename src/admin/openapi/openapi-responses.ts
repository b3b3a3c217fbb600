/** Response headers and problem responses that operations of the admin API share. */
import { ERRORS, type ErrorCode } from '../../platform/problems/errors.js';
import { DELTA_SECONDS } from '../../platform/problems/problem-schema.js';
import type { Json } from './openapi-schemas.js';

/** Response headers by name. X-RateLimit-* describe the request limit per address. */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Names this request, as in the log and the audit log.',
    schema: { type: 'string', maxLength: 128 },
    example: 'req_1d2m3kx9v7c4e5f6g7h8j9k0m',
  },
  'X-RateLimit-Limit': {
    description: 'Requests that one address may make in a minute.',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 1_000_000 },
    example: 1200,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests that remain of it.',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 1_000_000 },
    example: 1198,
  },
  'X-RateLimit-Reset': { description: 'Seconds until the minute is over.', schema: DELTA_SECONDS, example: 42 },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: DELTA_SECONDS, example: 2 },
  'WWW-Authenticate': {
    description: 'How to sign in, and what was wrong (RFC 6750).',
    schema: { type: 'string', maxLength: 1024 },
    example: 'Bearer realm="trailgate-admin"',
  },
  Link: {
    description: 'The next page, as `<path>; rel="next"` (RFC 8288). Not sent on the last page.',
    schema: { type: 'string', maxLength: 8192 },
    example: '</admin/v1/accounts?limit=20&cursor=WzEsImFjY291bnRzIl0>; rel="next"',
  },
  ETag: {
    description: 'Names this version of the resource, for `If-Match` and `If-None-Match`.',
    schema: { type: 'string', maxLength: 100 },
    example: '"7.q2hX0s8dYw1B"',
  },
  'Idempotent-Replayed': {
    description: '`true` where the request was done before, and this is what it was told then.',
    schema: { type: 'string', enum: ['true'] },
  },
  Location: {
    description: 'The path of what was created.',
    schema: { type: 'string', format: 'uri-reference', maxLength: 2048 },
    example: '/admin/v1/accounts/acc_1d2m3kx9v7c4e5f6g7h8j9k0m',
  },
} as const;

const LIMIT_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;
const MORE_HEADERS: Readonly<Record<number, readonly (keyof typeof HEADERS)[]>> = {
  400: ['WWW-Authenticate'],
  401: ['WWW-Authenticate'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Returns references to the response headers: the shared ones, and `more`. */
export function headerReferences(more: readonly (keyof typeof HEADERS)[] = []): Json {
  const names = ['X-Request-Id', ...LIMIT_HEADERS, ...more];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Returns one response per status with its error codes, and a default for requests rejected before any operation. */
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
    return problemResponse('Any other error, such as 408, 413, 414 or 431; in the same form.');
  },
};

function problemResponse(description: string, more: readonly (keyof typeof HEADERS)[] = []): Json {
  return {
    description,
    headers: headerReferences(more),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

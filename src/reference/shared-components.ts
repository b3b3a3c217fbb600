/** Components that every public operation shares: the problem, the limits' headers, the usual refusals, and `/usage`. */
import { mapObjects, type JsonObject } from '../config/openapi/openapi-traversal.js';
import { ERRORS, type ErrorCode, problemType } from '../problems/errors.js';
import { DELTA_SECONDS, PROBLEM_SCHEMAS } from '../problems/problem-schema.js';
import { LONGEST_WAIT_MS } from '../problems/retry-after.js';
import type { Components } from './service-components.js';

const COUNT = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/** Sums of a report may have been put right downward. */
const SUM = { ...COUNT, minimum: Number.MIN_SAFE_INTEGER };
/** No document of a service has such a place. */
const SHARED = '#/x-trailgate-shared/';
const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Headers by component name, each with what integrators may rely on. */
const HEADERS: Readonly<Record<string, { description: string; schema: unknown; example: unknown }>> = {
  'X-Request-Id': {
    description: 'Names this request. Quote it when you ask for help.',
    schema: { type: 'string', maxLength: 128 },
    example: 'req_4fzvT1mYwq8C',
  },
  RateLimit: {
    description:
      'What is left, for each policy: `r` requests remain, and something of it comes back in `t` seconds (draft-ietf-httpapi-ratelimit-headers).',
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
    description: 'Seconds until something of that limit comes back. On an error only up to an hour.',
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
      'Whether a library is to wait and try again by itself: `false` once the month is used up, and where a POST or PATCH may have had its effect.',
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

/** What says of a second try when, and whether at all. */
const RETRY_HEADERS = ['Retry-After', 'X-Should-Retry'];

const LIMIT_HEADERS = [
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

interface Refusal {
  readonly name: string;
  readonly description: string;
  /** The code that its example shows. */
  readonly code: ErrorCode;
  /** Headers beside `X-Request-Id`. */
  readonly headers: readonly string[];
}

/** What any operation can answer with, by status, unless its own document says it better. */
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
      'The API key lacks a scope, is used from an address that it does not allow, or its account is suspended.',
    code: 'insufficient_scope',
    headers: [...LIMIT_HEADERS, 'WWW-Authenticate'],
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
      'A limit is used up; nothing was counted for this request. Wait for `Retry-After` seconds. Without it waiting does not help: `resets_at` says when a used-up month is over.',
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
    description: 'A part of our system gave no usable answer. The request was not counted.',
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

/**
 * A reference to a component of ours. Only in the whole document it is one like any other: until then a service's component of the same name is
 * another one.
 */
export function sharedReference(type: 'headers' | 'responses' | 'schemas', name: string): { $ref: string } {
  return { $ref: `${SHARED}${type}/${name}` };
}

/** The document with references to our components as everybody writes them. */
export function withSharedReferences<Document extends JsonObject>(document: Document): Document {
  return mapObjects(document, (object) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string' || !reference.startsWith(SHARED)) return object;
    return { ...object, $ref: `#/components/${reference.slice(SHARED.length)}` };
  }) as Document;
}

/** References to the headers of a response with this status. */
export function headerReferences(status: string): Record<string, unknown> {
  const names = ['X-Request-Id', ...(REFUSALS[status]?.headers ?? LIMIT_HEADERS)];
  return Object.fromEntries(names.map((name) => [name, sharedReference('headers', name)]));
}

/** The content of every error, with the examples that a service's document gives. */
export function problemContent(media: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { examples, example } = media;
  return {
    [PROBLEM_MEDIA_TYPE]: {
      schema: sharedReference('schemas', 'Problem'),
      ...(examples === undefined ? {} : { examples }),
      ...(example === undefined || examples !== undefined ? {} : { example }),
    },
  };
}

/** What `GET /usage` answers, for example. */
export const USAGE_EXAMPLE = {
  account_id: 'acc_1m7wd312n1mth0vyfzqfx0k0n',
  api_key_id: 'key_1m7wd31x0d5agzr8jjc3321nk',
  plan: 'starter',
  windows: [
    { policy: 'key-minute', limit: 60, used: 2, remaining: 58, resets_at: '2026-05-01T09:13:26+02:00' },
    { policy: 'account-month', limit: 10_000, used: 127, remaining: 9_873, resets_at: '2026-06-01T00:00:00+02:00' },
  ],
} as const;

/** A fresh copy of the shared components, to which those of the services are added. */
export function sharedComponents(): Components {
  const responses = Object.entries(REFUSALS).map(([status, { name, description, code }]) => [
    name,
    { description, headers: headerReferences(status), content: problemContent({ example: problemExample(code) }) },
  ]);
  return {
    schemas: {
      ...PROBLEM_SCHEMAS,
      Usage: USAGE,
      UsageWindow: USAGE_WINDOW,
      UsageRow: USAGE_ROW,
    },
    headers: structuredClone(HEADERS),
    responses: Object.fromEntries(responses) as Record<string, unknown>,
    securitySchemes: {
      bearerAuth: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key of your account: `Authorization: Bearer tg_live_…`.',
      },
    },
  };
}

function problemExample(code: ErrorCode): Record<string, unknown> {
  const { title, status } = ERRORS[code];
  return { type: problemType(code), title, status, code, request_id: 'req_4fzvT1mYwq8C' };
}

const USAGE_WINDOW = {
  type: 'object',
  description: 'One limit and what was used of it.',
  required: ['policy', 'limit', 'used', 'remaining', 'resets_at'],
  properties: {
    policy: { type: 'string', maxLength: 100, description: 'Its name, as in `RateLimit-Policy`.' },
    limit: { ...COUNT, description: 'Requests that the window admits.' },
    used: { ...COUNT, description: 'Requests that were counted in the window.' },
    remaining: { ...COUNT, description: 'Requests that are left.' },
    resets_at: {
      type: 'string',
      format: 'date-time',
      maxLength: 40,
      description: "When the month ends, or something of the minute comes back; with the account's offset.",
    },
  },
} as const;

const USAGE_ROW = {
  type: 'object',
  description: 'What some requests of this API key came to.',
  required: ['requests', 'cost'],
  properties: {
    month: { type: 'string', format: 'date', maxLength: 10, description: 'First day of the billing period.' },
    day: { type: 'string', format: 'date', maxLength: 10, description: "The day, in the account's time zone." },
    api_key_id: { type: ['string', 'null'], maxLength: 100, description: 'The API key.' },
    operation: {
      type: ['string', 'null'],
      maxLength: 200,
      description: 'The `operationId`; null where none is known.',
    },
    outcome: {
      type: 'string',
      maxLength: 100,
      description:
        'What became of them: `success`, `client_error`, `server_error`, `aborted`, `given_back`, `rate_limited`, `quota_exceeded`, `denied`, `in_flight`, `unrecorded`, `adjusted`. There may be others one day.',
    },
    requests: { ...SUM, description: 'How many requests.' },
    cost: { ...SUM, description: 'What they count as in the limits of the month.' },
  },
} as const;

const USAGE = {
  type: 'object',
  description: 'The limits of this API key and its account.',
  required: ['account_id', 'api_key_id', 'plan', 'windows'],
  properties: {
    account_id: { type: 'string', maxLength: 100, description: 'The account.' },
    api_key_id: { type: ['string', 'null'], maxLength: 100, description: 'The API key that asked.' },
    plan: { type: 'string', maxLength: 100, description: 'The plan of the account.' },
    approximate: {
      type: 'boolean',
      description:
        'There, and `true`, only while our counters cannot be asked: `used` may then be less than what was counted. Without it the numbers are exact.',
    },
    windows: {
      type: 'array',
      maxItems: 16,
      items: { $ref: '#/components/schemas/UsageWindow' },
      description: 'Each limit.',
    },
    from: { type: 'string', format: 'date', maxLength: 10, description: 'With `group_by`: the first day of `data`.' },
    to: { type: 'string', format: 'date', maxLength: 10, description: 'With `group_by`: the last day of `data`.' },
    data: {
      type: 'array',
      maxItems: 1000,
      items: { $ref: '#/components/schemas/UsageRow' },
      description: 'With `group_by`: the sums.',
    },
    has_more: { type: 'boolean', description: 'With `group_by`: whether there is another page.' },
    next_cursor: {
      type: ['string', 'null'],
      maxLength: 1000,
      description: 'With `group_by`: the `cursor` of the next page; null on the last one.',
    },
  },
} as const;

/** Defines the schemas and an example response of `GET /usage`, for the public OpenAPI document. */

/** Schema of a number of requests. */
export const COUNT = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/** Schema of a sum of requests in a usage row. Corrections can make the sum negative. */
const SUM = { ...COUNT, minimum: Number.MIN_SAFE_INTEGER };
/** Example response of `GET /usage`. */
export const USAGE_EXAMPLE = {
  account_id: 'acc_1m7wd312n1mth0vyfzqfx0k0n',
  api_key_id: 'key_1m7wd31x0d5agzr8jjc3321nk',
  plan: 'starter',
  windows: [
    { policy: 'key-minute', limit: 60, used: 2, remaining: 58, resets_at: '2026-05-01T09:13:26+02:00' },
    { policy: 'account-month', limit: 10_000, used: 127, remaining: 9_873, resets_at: '2026-06-01T00:00:00+02:00' },
  ],
} as const;

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
      description: "When the month ends, or more requests of the minute become available; with the account's offset.",
    },
  },
} as const;

const USAGE_ROW = {
  type: 'object',
  description: 'Usage of this API key in one group.',
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
        'Outcome of the requests: `success`, `client_error`, `server_error`, `aborted`, `given_back`, ' +
        '`rate_limited`, `quota_exceeded`, `denied`, `in_flight`, `unrecorded`, `adjusted`. More values may be ' +
        'added.',
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
        'Present, and `true`, only while the counters are unavailable: `used` may then be less than what was ' +
        'counted. Otherwise the numbers are exact.',
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

/** Schemas of `GET /usage`, by component name. */
export const USAGE_SCHEMAS = { Usage: USAGE, UsageWindow: USAGE_WINDOW, UsageRow: USAGE_ROW } as const;

/** Defines the JSON schemas of errors for all published API descriptions. */
import { ERRORS } from './errors.js';

const LONGEST_CODE = 100;
/** Largest value of the format `int32`. */
export const LARGEST_INT32 = 2_147_483_647;

/** DELTA_SECONDS is the schema of a number of seconds, as in `Retry-After` (RFC 9110 section 10.2.3). */
export const DELTA_SECONDS = { type: 'integer', format: 'int32', minimum: 0, maximum: LARGEST_INT32 } as const;

const FIELD_ERROR = {
  type: 'object',
  description: 'One wrong field or parameter.',
  required: ['detail'],
  properties: {
    detail: { type: 'string', maxLength: 1000, description: 'What is wrong with it.' },
    pointer: {
      type: 'string',
      maxLength: 1000,
      description: 'The field, as a JSON Pointer into the body that you sent: `#/scopes/0`.',
    },
    parameter: { type: 'string', maxLength: 200, description: 'The query or path parameter.' },
    code: { type: 'string', maxLength: LONGEST_CODE, description: 'The kind of fault, for your program.' },
    changed_by: { type: 'string', maxLength: 320, description: 'Who changed the field meanwhile; of the admin API.' },
    changed_at: { type: 'string', format: 'date-time', maxLength: 40, description: 'When; of the admin API.' },
  },
} as const;

const PROBLEM = {
  type: 'object',
  description: 'What went wrong (RFC 9457). Every error of this API has this form.',
  required: ['type', 'title', 'status', 'code', 'request_id'],
  properties: {
    type: { type: 'string', format: 'uri', maxLength: 2048, description: 'Identifies the kind of problem.' },
    title: { type: 'string', maxLength: 200, description: 'The kind of problem in a few words.' },
    status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599, description: 'The HTTP status.' },
    detail: { type: 'string', maxLength: 8192, description: 'What happened this time, and what to do.' },
    code: {
      type: 'string',
      maxLength: LONGEST_CODE,
      // Clients must accept unknown codes, so this is not an `enum`. Go generators reject `anyOf`.
      'x-extensible-enum': Object.keys(ERRORS),
      description: 'The kind of problem, for your program. New ones may come.',
    },
    request_id: { type: 'string', maxLength: 128, description: 'Quote it when you ask for help.' },
    errors: {
      type: 'array',
      maxItems: 1000,
      items: { $ref: '#/components/schemas/FieldError' },
      description: 'Each field or parameter that is wrong.',
    },
    'violated-policies': {
      type: 'array',
      maxItems: 16,
      items: { type: 'string', maxLength: 100 },
      description: 'The limits that are used up, by the names that `RateLimit-Policy` gives them.',
    },
    retry_after: { ...DELTA_SECONDS, description: 'The seconds of `Retry-After`, where a limit is used up.' },
    resets_at: {
      type: 'string',
      format: 'date-time',
      maxLength: 40,
      description: "When a used-up month is over; with the account's offset.",
    },
    missing_scopes: {
      type: 'array',
      maxItems: 100,
      items: { type: 'string', maxLength: 200 },
      description: 'The scopes that the API key lacks.',
    },
    required_roles: {
      type: 'array',
      maxItems: 10,
      items: { type: 'string', maxLength: 20 },
      description: 'Roles that may do this; of the admin API.',
    },
    confirm_with: {
      type: 'array',
      maxItems: 10,
      items: { type: 'string', maxLength: 20 },
      description: 'How the member can show that it is still them; of the admin API.',
    },
    reason: { type: 'string', maxLength: LONGEST_CODE, description: "The operation's own code for what went wrong." },
  },
} as const;

/** Schemas by their names in `components.schemas`. */
export const PROBLEM_SCHEMAS = { Problem: PROBLEM, FieldError: FIELD_ERROR } as const;

/** Defines all error codes and their HTTP statuses. The response format is `{"error": {code, message, fields?}}`. */

const STATUSES = {
  malformed_json: 400,
  invalid_body: 400,
  bad_request: 400,
  invalid_parameter: 400,
  invalid_cursor: 400,
  missing_account: 401,
  customer_not_found: 404,
  route_not_found: 404,
  email_taken: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  internal_error: 500,
  database_unavailable: 503,
} as const;

export type ErrorCode = keyof typeof STATUSES;

/**
 * FieldError reports an invalid field of a request body. `field` is a dotted path, such as `emergency_contact.phone`.
 */
export interface FieldError {
  readonly field: string;
  /** Phrase that follows the name of the field, such as `must be …` or `is required`. */
  readonly message: string;
}

/** ParameterError reports an invalid query parameter. */
export interface ParameterError {
  readonly parameter: string;
  readonly message: string;
}

export type Faults = readonly FieldError[] | readonly ParameterError[];

export interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly fields?: Faults };
}

/** RequestError becomes the error response of a request. The caller sees its message. */
export class RequestError extends Error {
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly fields: Faults = [],
  ) {
    super(message);
    this.status = STATUSES[code];
  }

  body(): ErrorBody {
    const { code, message, fields } = this;
    return { error: { code, message, ...(fields.length === 0 ? {} : { fields }) } };
  }
}

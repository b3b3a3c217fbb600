/** Errors of admin API requests. */

/** A field that the API rejected. */
export interface RefusedField {
  /** Path of the field: `scopes`, `limits/minute`. */
  readonly field: string;
  /** The API's reason, in English. */
  readonly detail: string;
  /** The API's code for the reason, if it has one. */
  readonly code?: string;
  /** Actor who changed the field in the meantime. */
  readonly changedBy?: string;
  readonly changedAt?: string;
}

/** A problem response (RFC 9457). */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: readonly RefusedField[];
  /** The whole problem, for members of a single code. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly retryAfterSeconds: number | undefined;

  constructor(response: Response, body: unknown) {
    const read = isRecord(body) ? body : {};
    super(typeof read['detail'] === 'string' ? read['detail'] : response.statusText);
    this.status = response.status;
    this.code = typeof read['code'] === 'string' ? read['code'] : 'unknown';
    this.requestId = response.headers.get('X-Request-Id') ?? undefined;
    this.fields = fieldsOf(read['errors']);
    this.body = read;
    const seconds = Number(response.headers.get('Retry-After'));
    this.retryAfterSeconds = seconds > 0 ? seconds : undefined;
  }
}

/** The request got no response: network failure or server down. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** Reports whether an error is a problem with one of these codes. */
export const hasCode = (error: unknown, ...codes: readonly string[]): error is ApiProblem =>
  error instanceof ApiProblem && codes.includes(error.code);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function fieldsOf(errors: unknown): RefusedField[] {
  if (!Array.isArray(errors)) return [];
  return errors.filter(isRecord).map(({ pointer, parameter, detail, code, changed_by: by, changed_at: at }) => ({
    field: String(pointer ?? parameter ?? '').replace(/^#?\//, ''),
    detail: String(detail ?? ''),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof by === 'string' ? { changedBy: by } : {}),
    ...(typeof at === 'string' ? { changedAt: at } : {}),
  }));
}

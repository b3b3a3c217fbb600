/** Errors that requests to the admin API can throw. */

/** Field or parameter that the API rejected, with the reason. */
export interface RefusedField {
  /**
   * Path of the field in the body, such as `scopes` or `limits/minute`, or name of the query parameter. Empty or `#`
   * means the whole request.
   */
  readonly field: string;
  /** Reason in English, as the API states it. */
  readonly detail: string;
  /** Code of the reason. Missing if the API sends none. */
  readonly code?: string;
  /** ID of the actor who changed the field since the panel read it. Only edit conflicts have this value. */
  readonly changedBy?: string;
  /** When the actor changed the field (ISO 8601). Only edit conflicts have this value. */
  readonly changedAt?: string;
}

/** ApiProblem is an error response of the API (problem details, RFC 9457). Its message is the English detail text. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  /** Error code of the API, such as `conflict`. `unknown` if the response has none. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: readonly RefusedField[];
  /** The whole response body, because some codes have further fields. Empty if the body is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Value of `Retry-After` in seconds. Undefined if the header is missing or not a positive number. */
  readonly retryAfterSeconds: number | undefined;

  constructor(response: Response, body: unknown) {
    const problem = isRecord(body) ? body : {};
    super(typeof problem['detail'] === 'string' ? problem['detail'] : response.statusText);
    this.status = response.status;
    this.code = typeof problem['code'] === 'string' ? problem['code'] : 'unknown';
    this.requestId = response.headers.get('X-Request-Id') ?? undefined;
    this.fields = fieldsOf(problem['errors']);
    this.body = problem;
    const seconds = Number(response.headers.get('Retry-After'));
    this.retryAfterSeconds = seconds > 0 ? seconds : undefined;
  }
}

/** Unreachable means that no response arrived, because the network failed or the server is down. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** Reports whether an error is an API problem with one of these codes. */
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

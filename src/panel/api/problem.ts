/** What can go wrong with a request to the admin API, as the pages tell apart. */

/** A field that the API did not take. */
export interface RefusedField {
  /** `scopes`, `limits/minute`. */
  readonly field: string;
  /** The API's own words, in English. */
  readonly detail: string;
  /** Why, where the API has a word of its own for it. */
  readonly code?: string;
  /** Of a field that somebody else changed meanwhile. */
  readonly changedBy?: string;
  readonly changedAt?: string;
}

/** A response that says no: RFC 9457. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: readonly RefusedField[];
  /** All of it, for what one code alone has. */
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

/** No response came at all: no network, or nobody listens there. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** Whether an error is a problem with one of these codes. */
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

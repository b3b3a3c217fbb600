/** Calls the admin API for the commands of the CLI. Turns failures into one-line messages for the user. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_PREFIX, OPERATIONS, type OperationId } from '../../admin/openapi/operations.js';
import type { ClientEnvironment } from '../../config/client-environment.js';

const TIMEOUT_MS = 30_000;
const LARGEST_PAGE = 100;

export type Fields = Readonly<Record<string, unknown>>;

/** CommandError has a message that the CLI prints to the user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export interface Call {
  /** Query parameters. Undefined and null values are omitted from the URL. */
  readonly query?: Fields;
  readonly body?: Fields;
}

/** Rows are the first rows of a list. `has_more` is true if the list has further rows. */
export interface Rows {
  readonly data: readonly Fields[];
  readonly has_more: boolean;
}

/**
 * Returns the path of an operation. Encodes the parameters, so that they cannot change the path. Throws `CommandError`
 * for `''`, `.` and `..`.
 */
function operationPath(operation: OperationId, parameters: readonly string[]): string {
  const bad = parameters.find((parameter) => parameter === '' || parameter === '.' || parameter === '..');
  if (bad !== undefined) throw new CommandError(`"${bad}" is not a valid id.`);
  const rest = [...parameters];
  return API_PREFIX + OPERATIONS[operation].path.replace(/\{\w+\}/g, () => encodeURIComponent(rest.shift() ?? ''));
}

/** Reply is a response of the admin API. */
interface Reply {
  readonly ok: boolean;
  readonly status: number;
  /** Value of the `Retry-After` field. Null without the field. */
  readonly retryAfter: string | null;
  readonly text: string;
}

export class AdminClient {
  constructor(private readonly environment: ClientEnvironment) {}

  /** Calls an operation and returns the JSON object of the response. Rejects with `CommandError`. */
  async call(operation: OperationId, parameters: readonly string[], call: Call = {}): Promise<Fields> {
    const reply = await this.send(operation, parameters, call);
    const body = parseObject(reply.text);
    if (reply.ok && body !== undefined) return body;
    throw new CommandError(body === undefined ? this.notAdminApi(reply.status) : describeProblem(body, reply));
  }

  /**
   * Calls an operation whose response is empty or not JSON, and returns the text of the response. Rejects with
   * `CommandError`.
   */
  async callForText(operation: OperationId, parameters: readonly string[], call: Call = {}): Promise<string> {
    const reply = await this.send(operation, parameters, call);
    if (reply.ok) return reply.text;
    const problem = parseObject(reply.text);
    throw new CommandError(problem === undefined ? this.notAdminApi(reply.status) : describeProblem(problem, reply));
  }

  private async send(
    operation: OperationId,
    parameters: readonly string[],
    { query = {}, body }: Call,
  ): Promise<Reply> {
    const url = this.urlOf(operationPath(operation, parameters), query);
    const token = await this.token();
    const headers = { Authorization: `Bearer ${token}`, Accept: 'application/json' };
    try {
      const response = await fetch(url, {
        method: OPERATIONS[operation].method.toUpperCase(),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: body === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const retryAfter = response.headers.get('retry-after');
      return { ok: response.ok, status: response.status, retryAfter, text: await response.text() };
    } catch (error) {
      throw new CommandError(this.unreachable(error));
    }
  }

  /** Reads up to `most` rows of a list, page by page. Rejects with `CommandError`. */
  async listRows(
    operation: OperationId,
    parameters: readonly string[],
    most: number,
    query: Fields = {},
  ): Promise<Rows> {
    const data: Fields[] = [];
    let cursor: unknown;
    for (;;) {
      const limit = Math.min(LARGEST_PAGE, most - data.length);
      const page = await this.call(operation, parameters, { query: { ...query, limit, cursor } });
      data.push(...(page['data'] as Fields[]));
      cursor = page['next_cursor'];
      if (page['has_more'] !== true || data.length >= most) return { data, has_more: page['has_more'] === true };
    }
  }

  private urlOf(target: string, query: Fields): URL {
    if (!URL.canParse(this.environment.adminUrl) || !/^https?:/.test(this.environment.adminUrl)) {
      throw new CommandError('TRAILGATE_ADMIN_URL must be a URL such as http://127.0.0.1:8081.');
    }
    const url = new URL(this.environment.adminUrl + target);
    // Credentials in the URL are refused, because error messages would contain them.
    if (url.username !== '' || url.password !== '') {
      throw new CommandError(
        'TRAILGATE_ADMIN_URL must not contain a username or password. The operator token signs in.',
      );
    }
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    return url;
  }

  private async token(): Promise<string> {
    const { adminToken, dataDir } = this.environment;
    const file = join(dataDir, 'admin-token');
    const token = adminToken ?? (await readFile(file, 'utf8').catch(() => '')).trim();
    if (token === '') {
      throw new CommandError(`No operator token: set TRAILGATE_ADMIN_TOKEN, or run this where ${file} can be read.`);
    }
    // The token is checked here, because the error of `fetch` for an invalid header would contain the token.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      const source = adminToken === undefined ? file : 'TRAILGATE_ADMIN_TOKEN';
      throw new CommandError(
        `The operator token has characters that are illegal in headers, such as a line break. Check ${source}.`,
      );
    }
    return token;
  }

  private unreachable(error: unknown): string {
    const { adminUrl } = this.environment;
    const { cause } = error as { cause?: { code?: string } };
    if (cause?.code === 'ECONNREFUSED') {
      return `No response from ${adminUrl}. Start it (trailgate start, or npm start), or set TRAILGATE_ADMIN_URL.`;
    }
    if ((error as Error).name === 'TimeoutError') return `${adminUrl} did not answer within ${TIMEOUT_MS / 1_000} s.`;
    return `${adminUrl} cannot be reached (${cause?.code ?? (error as Error).message}): check TRAILGATE_ADMIN_URL.`;
  }

  private notAdminApi(status: number): string {
    return (
      `${this.environment.adminUrl} answered ${status} with something that is not the admin API: ` +
      'check TRAILGATE_ADMIN_URL.'
    );
  }
}

/**
 * Formats a problem in one line: `422 validation_failed: Some fields are not valid. scopes/0: … (request req_…)`. Adds
 * the seconds to wait, unless the text already contains them.
 */
function describeProblem(problem: Fields, { status, retryAfter }: Reply): string {
  const { code, detail, title, errors, request_id: requestId } = problem;
  const fields = (Array.isArray(errors) ? (errors as Fields[]) : []).map(({ pointer, parameter, detail: what }) => {
    const where = typeof pointer === 'string' ? pointer.replace(/^#\/?/, '') : String(parameter ?? '');
    return ` ${where === '' ? '' : `${where}: `}${String(what)}.`;
  });
  const request = requestId === undefined ? '' : ` (request ${String(requestId)})`;
  const words = `${String(detail ?? title ?? '')}${fields.join('')}`;
  const lacksWait = retryAfter !== null && /^\d+$/.test(retryAfter) && !new RegExp(`\\b${retryAfter}\\b`).test(words);
  const wait = lacksWait ? ` Try again in ${retryAfter} s.` : '';
  return oneLine(`${status} ${String(code ?? '')}: ${words}${wait}${request}`);
}

/** Replaces control characters with spaces, so that server text cannot control the terminal. */
export function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}

function parseObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

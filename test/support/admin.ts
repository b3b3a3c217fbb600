/** A typed client of the admin API for tests. Field names: section 6 of the design. */
import { send, type Answer } from './http.js';
import { sleep } from './processes.js';

/** Number and interval of retries while the database is too busy (status 503). */
const BUSY_ATTEMPTS = 20;
const BUSY_PAUSE_MS = 250;

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly time_zone: string;
  readonly billing_day: number;
  readonly status: 'active' | 'suspended';
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly environment: 'live' | 'test';
  readonly expires_at: string | null;
  readonly allowed_ips: readonly string[];
  readonly status: string;
  readonly hint: string;
  readonly previous_secret_expires_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** A key with its secret. The API returns the secret only when the key is created or rotated. */
export interface ApiKeyWithSecret extends ApiKey {
  readonly secret: string;
}

export interface NewApiKey {
  readonly name?: string;
  readonly scopes?: readonly string[];
  readonly environment?: 'live' | 'test';
  readonly expires_at?: string;
  readonly allowed_ips?: readonly string[];
  readonly limits?: {
    readonly minute?: number | null;
    readonly day?: number | null;
    readonly month?: number | null;
  } | null;
}

export interface UsageWindow {
  readonly policy: string;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly resets_at: string;
}

export interface Usage {
  readonly account_id: string;
  readonly api_key_id: string | null;
  readonly plan: string;
  readonly approximate?: boolean;
  readonly windows: readonly UsageWindow[];
}

export interface Page<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** The admin API responded with a status other than 2xx. */
export class AdminError extends Error {
  readonly status: number;
  readonly answer: Answer;

  constructor(what: string, answer: Answer) {
    super(`${what} answered ${answer.status}: ${answer.text}`);
    this.status = answer.status;
    this.answer = answer;
  }
}

/** Sends requests to the admin API with an operator token. */
export class AdminClient {
  readonly url: string;
  readonly token: string;

  /**
   * @param url origin of the admin listener
   * @param token operator token
   */
  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  /** Sends a request to `/admin/v1` + `path`. Resolves to the response, whatever its status. */
  request(method: string, path: string, body?: object): Promise<Answer> {
    const headers = { Authorization: `Bearer ${this.token}` };
    return send(`${this.url}/admin/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  /** Sends a request like `request`. Rejects with `AdminError` unless the status is 2xx. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.request(method, path, body);
    if (answer.status < 200 || answer.status > 299) throw new AdminError(`${method} ${path}`, answer);
    return (answer.body.length === 0 ? undefined : answer.json()) as T;
  }

  /** Creates an account. Retries on status 503, because a duplicate account does no harm in a test. */
  createAccount(account: Partial<Account> = {}): Promise<Account> {
    return this.patiently('/accounts', { name: 'Isar Rafting', plan: 'unlimited', ...account });
  }

  getAccount(id: string): Promise<Account> {
    return this.call('GET', `/accounts/${id}`);
  }

  updateAccount(id: string, change: Partial<Account>): Promise<Account> {
    return this.call('PATCH', `/accounts/${id}`, change);
  }

  /** Creates a key, with all permissions unless `key.scopes` is given. Retries on status 503. */
  createKey(accountId: string, key: NewApiKey = {}): Promise<ApiKeyWithSecret> {
    return this.patiently(`/accounts/${accountId}/api-keys`, { name: 'Test key', scopes: ['*'], ...key });
  }

  private async patiently<T>(path: string, body: object): Promise<T> {
    for (let left = BUSY_ATTEMPTS; ; left--) {
      try {
        return await this.call<T>('POST', path, body);
      } catch (error) {
        if (left === 0 || !(error instanceof AdminError) || error.status !== 503) throw error;
        await sleep(BUSY_PAUSE_MS);
      }
    }
  }

  listKeys(accountId: string): Promise<Page<ApiKey>> {
    return this.call('GET', `/accounts/${accountId}/api-keys`);
  }

  getKey(id: string): Promise<ApiKey> {
    return this.call('GET', `/api-keys/${id}`);
  }

  updateKey(id: string, change: Partial<Omit<NewApiKey, 'environment'>>): Promise<ApiKey> {
    return this.call('PATCH', `/api-keys/${id}`, change);
  }

  rotateKey(id: string, overlapSeconds = 0, more: object = {}): Promise<ApiKeyWithSecret> {
    return this.call('POST', `/api-keys/${id}/rotate`, { overlap_seconds: overlapSeconds, ...more });
  }

  pauseKey(id: string): Promise<ApiKey> {
    return this.call('POST', `/api-keys/${id}/pause`);
  }

  resumeKey(id: string): Promise<ApiKey> {
    return this.call('POST', `/api-keys/${id}/resume`);
  }

  async revokeKey(id: string): Promise<void> {
    await this.call('DELETE', `/api-keys/${id}`);
  }

  usage(accountId: string, query = ''): Promise<Usage> {
    return this.call('GET', `/accounts/${accountId}/usage${query}`);
  }

  adjustQuota(accountId: string, adjustment: QuotaAdjustment): Promise<Record<string, unknown>> {
    return this.call('POST', `/accounts/${accountId}/quota-adjustments`, adjustment);
  }

  auditLog(query = ''): Promise<Page<Record<string, unknown>>> {
    return this.call('GET', `/audit-log${query}`);
  }

  /** Creates an account on a plan, and a key for it. */
  async newKey(plan = 'unlimited', key: NewApiKey = {}): Promise<{ account: Account; key: ApiKeyWithSecret }> {
    const account = await this.createAccount({ plan });
    return { account, key: await this.createKey(account.id, key) };
  }
}

export interface QuotaAdjustment {
  readonly window: 'month';
  readonly type: 'grant' | 'set' | 'reset';
  readonly amount?: number;
  readonly api_key_id?: string;
  readonly reason: string;
}

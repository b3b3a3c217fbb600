/** A small typed client of the admin API, for tests that need accounts and keys. Field names: design, section 6. */
import { send, type Answer } from './http.js';
import { sleep } from './processes.js';

/** How often, and how far apart, a database is asked that is too busy. */
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

/** A key with its secret, which is returned once: when it is made or rotated. */
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

/** The admin API refused. */
export class AdminError extends Error {
  readonly status: number;
  readonly answer: Answer;

  constructor(what: string, answer: Answer) {
    super(`${what} answered ${answer.status}: ${answer.text}`);
    this.status = answer.status;
    this.answer = answer;
  }
}

export class AdminClient {
  readonly url: string;
  readonly token: string;

  /** `url` is the origin of the admin listener. */
  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  /** Any request to `/admin/v1` + path, whatever it is answered with. */
  request(method: string, path: string, body?: object): Promise<Answer> {
    const headers = { Authorization: `Bearer ${this.token}` };
    return send(`${this.url}/admin/v1${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  /** Like `request`, but rejects with `AdminError` unless the status is 2xx. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.request(method, path, body);
    if (answer.status < 200 || answer.status > 299) throw new AdminError(`${method} ${path}`, answer);
    return (answer.body.length === 0 ? undefined : answer.json()) as T;
  }

  /** Asks again while the database is too busy: an account more changes nothing. */
  createAccount(account: Partial<Account> = {}): Promise<Account> {
    return this.patiently('/accounts', { name: 'Isar Rafting', plan: 'unlimited', ...account });
  }

  getAccount(id: string): Promise<Account> {
    return this.call('GET', `/accounts/${id}`);
  }

  updateAccount(id: string, change: Partial<Account>): Promise<Account> {
    return this.call('PATCH', `/accounts/${id}`, change);
  }

  /** A key that may do everything, unless said otherwise. */
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

  /** An account on the plan and a key of it: what most tests begin with. */
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

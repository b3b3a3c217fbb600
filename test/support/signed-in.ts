/** Credentials for the admin API in every role, and a client that sends requests as the panel does. */
import type { BrowserContext } from 'playwright-core';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { newId } from '../../src/stores/database/ids.js';
import { csrfTokenOf } from '../../src/members/session-token.js';
import type { Role } from '../../src/members/permissions.js';
import type { RunningAdmin } from './admin-application.js';
import { send, type Answer } from './http.js';

/** Headers that authenticate a request. */
export type Credentials = Readonly<Record<string, string>>;

let count = 0;

/** Inserts a member without a password into the database. Returns the member's ID. */
export async function newMember(
  { db }: DatabaseHandle,
  options: {
    readonly isOperator?: boolean;
    readonly roles?: Readonly<Record<string, Role>>;
    readonly email?: string;
  } = {},
): Promise<string> {
  const id = newId('mem', 1_795_000_000_000);
  const email = options.email ?? `member-${++count}@example.com`;
  const times = { created_at: 1, updated_at: 1, version: 1 };
  await db
    .insertInto('member')
    .values({
      id,
      email,
      email_key: email.toLowerCase(),
      name: 'Ana',
      is_operator: options.isOperator === true ? 1 : 0,
      status: 'active',
      password: null,
      password_changed_at: null,
      totp_secret: null,
      totp_confirmed_at: null,
      totp_last_step: 0,
      locale: null,
      last_signed_in_at: null,
      removed_at: null,
      ...times,
    })
    .execute();
  for (const [accountId, role] of Object.entries(options.roles ?? {})) {
    await db
      .insertInto('account_member')
      .values({ account_id: accountId, member_id: id, role, ...times })
      .execute();
  }
  return id;
}

/** Returns the headers that the panel sends with this session cookie. */
export function fromPanel(cookie: string): Credentials {
  return {
    Cookie: `tg_session=${cookie}`,
    'Sec-Fetch-Site': 'same-origin',
    'X-CSRF-Token': csrfTokenOf(cookie),
  };
}

const FROM = { ip: '127.0.0.1', userAgent: 'test' };

/** Begins a session of a member. Returns its headers. */
export async function signIn({ members }: RunningAdmin, memberId: string): Promise<Credentials> {
  const { token } = await members.sessions.createSession({ memberId }, 'password', FROM);
  return fromPanel(token);
}

/** Signs a member in to the browser context, by a new session whose cookie it adds. */
export async function signInAt(
  context: BrowserContext,
  { members, port }: RunningAdmin,
  memberId: string,
): Promise<void> {
  const { token } = await members.sessions.createSession({ memberId }, 'password', FROM);
  const cookie = { name: 'tg_session', value: token, httpOnly: true, sameSite: 'Lax' } as const;
  await context.addCookies([{ ...cookie, url: `http://localhost:${port}` }]);
}

/** Begins a portal session. Returns its headers. @param scopes the only allowed scopes; null for no limit. */
export async function portalSession(
  { members }: RunningAdmin,
  accountId: string,
  role: Role,
  scopes: readonly string[] | null = null,
): Promise<Credentials> {
  const portal = { accountId, role, scopes, label: 'Ana of Isar', returnUrl: 'https://app.example.com/' };
  const { token } = await members.sessions.createSession(
    { portal, absoluteMs: 3_600_000, createdBy: 'operator' },
    'portal',
    FROM,
  );
  return fromPanel(token);
}

/** Creates a token of an account. Returns its headers. @param createdBy creator, as an actor of the audit log. */
export async function accountToken(
  { members, clock }: RunningAdmin,
  accountId: string,
  role: 'admin' | 'viewer',
  createdBy = 'operator',
): Promise<Credentials> {
  const expiresAt = new Date(clock.now() + 86_400_000).toISOString();
  const input = { name: 'CI', role, expires_at: expiresAt, allowed_ips: [] };
  const context = { actor: createdBy, ip: '127.0.0.1', requestId: 'req_test' };
  const { secret } = await members.tokens.create(accountId, input, context);
  return { Authorization: `Bearer ${secret}` };
}

/** PanelBrowser keeps cookies, and sends the headers that the panel sends. */
export class PanelBrowser {
  /** Cookies by name. */
  readonly cookies = new Map<string, string>();
  private csrf = '';

  constructor(
    private readonly url: string,
    private readonly more: Readonly<Record<string, string>> = {},
  ) {}

  /** Sends a request, and takes over cookies and the CSRF token of the response. */
  async ask(method: string, path: string, body?: object, headers: Credentials = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await send(`${this.url}/admin/v1${path}`, {
      method,
      headers: {
        ...(cookie === '' ? {} : { Cookie: cookie }),
        ...(method === 'GET' ? {} : { 'Sec-Fetch-Site': 'same-origin' }),
        ...(this.csrf === '' ? {} : { 'X-CSRF-Token': this.csrf }),
        ...this.more,
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    if (answer.status === 200 && answer.text.startsWith('{')) {
      const { me, csrf_token: own } = answer.json<{ me?: { csrf_token: string }; csrf_token?: string }>();
      this.csrf = me?.csrf_token ?? own ?? this.csrf;
    }
    return answer;
  }

  /** Sends a request, and returns the JSON of the response. Throws on a status above 299. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.ask(method, path, body);
    if (answer.status > 299) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return (answer.body.length === 0 ? undefined : answer.json()) as T;
  }
}

/** A password that meets all rules. */
export const GOOD_PASSWORD = 'seven small otters row upstream';

/** Hash of `GOOD_PASSWORD`. Computed once, because hashing takes 46 ms of CPU time. */
let hashOfGoodPassword: Promise<string> | undefined;

/** Inserts a member who can sign in with `GOOD_PASSWORD`. */
export async function memberWithPassword(
  database: DatabaseHandle,
  { members }: RunningAdmin,
  options: Parameters<typeof newMember>[1] = {},
): Promise<{ readonly id: string; readonly email: string }> {
  const id = await newMember(database, options);
  const password = await (hashOfGoodPassword ??= members.passwords.hash(GOOD_PASSWORD));
  const update = database.db.updateTable('member').set({ password }).where('id', '=', id);
  const { email } = await update.returning('email').executeTakeFirstOrThrow();
  return { id, email };
}

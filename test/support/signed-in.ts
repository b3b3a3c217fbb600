/** Callers of the admin API in every role, as their browser or program would ask. */
import type { DatabaseHandle } from '../../src/database/connect.js';
import { newId } from '../../src/database/ids.js';
import { csrfTokenOf } from '../../src/members/session-token.js';
import type { Role } from '../../src/members/permissions.js';
import type { RunningAdmin } from './admin-application.js';

/** Headers by which a request is somebody's. */
export type Credentials = Readonly<Record<string, string>>;

let count = 0;

/** A member without a password. */
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

/** What a page of the panel sends with a session of that cookie. */
export function fromPanel(cookie: string): Credentials {
  return {
    Cookie: `tg_session=${cookie}`,
    'Sec-Fetch-Site': 'same-origin',
    'X-CSRF-Token': csrfTokenOf(cookie),
  };
}

const FROM = { ip: '127.0.0.1', userAgent: 'test' };

/** A session of a member who signed in just now. */
export async function signIn({ members }: RunningAdmin, memberId: string): Promise<Credentials> {
  const { token } = await members.sessions.begin({ memberId }, 'password', FROM);
  return fromPanel(token);
}

/** A session that a portal link began. */
export async function portalSession({ members }: RunningAdmin, accountId: string, role: Role): Promise<Credentials> {
  const portal = { accountId, role, scopes: null, label: 'Ana of Isar' };
  const { token } = await members.sessions.begin({ portal, absoluteMs: 3_600_000 }, 'portal', FROM);
  return fromPanel(token);
}

/** A token of an account. */
export async function accountToken(
  { members, stores }: RunningAdmin,
  accountId: string,
  role: 'admin' | 'viewer',
): Promise<Credentials> {
  const expiresAt = new Date(stores.clock.now() + 86_400_000).toISOString();
  const input = { name: 'CI', role, expires_at: expiresAt, allowed_ips: [] };
  const context = { actor: 'operator', ip: '127.0.0.1', requestId: 'req_test' };
  const { secret } = await members.tokens.create(accountId, input, context);
  return { Authorization: `Bearer ${secret}` };
}

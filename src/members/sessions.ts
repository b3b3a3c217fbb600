/**
 * Starts, finds and ends the sessions of signed-in browsers. Every request reads its session from the database, without
 * a cache. So all nodes refuse an ended session at once.
 */
import type { Kysely, Selectable, Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { newId } from '../stores/database/ids.js';
import type { MemberSessionTable, MemberTable } from '../stores/database/tables/member-tables.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { lockMember } from './member-rows.js';
import type { BestEffortWrites } from './best-effort-writes.js';
import type { Role } from './permissions.js';
import { createToken, hashToken, isToken } from './session-token.js';

/** SessionLimits holds the maximum lifetimes of a session, in milliseconds. */
export interface SessionLimits {
  /** Maximum time without a request. */
  readonly idleMs: number;
  /** Maximum time in total. */
  readonly absoluteMs: number;
}

/** SignInMethod is the method with which the user of a session signed in. */
export type SignInMethod = MemberSessionTable['method'];

/** SeenFrom holds the origin of a request, as the list of sessions shows it. */
export interface SeenFrom {
  readonly ip: string;
  readonly userAgent: string;
}

/** PortalGrant holds the access of a portal session. */
export interface PortalGrant {
  readonly accountId: string;
  readonly role: Role;
  /** Limits the session to keys that have only these scopes. Null: all keys. */
  readonly scopes: readonly string[] | null;
  readonly label: string;
  /** URL on the company's site to which the panel links back. */
  readonly returnUrl: string;
}

/** PortalOwner is the owner of a new portal session. `absoluteMs` is the lifetime of the session. */
export interface PortalOwner {
  readonly portal: PortalGrant;
  readonly absoluteMs: number;
  /** Actor that created the portal link, as in the audit log. */
  readonly createdBy: string;
}

/** Session is a session without its secret. Times are in milliseconds since the epoch. */
export interface Session extends SeenFrom {
  readonly id: string;
  readonly method: SignInMethod;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  /** Time at which the session ends if the browser sends no further request. */
  readonly idleUntil: number;
  readonly endsAt: number;
  /**
   * Time of the last confirmation of identity. A sign-in counts as a confirmation. A session that continues another one
   * keeps the time of that session.
   */
  readonly confirmedAt: number;
}

/** SessionMember is the member who is signed in with a session. */
export interface SessionMember {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
}

/** LiveSession is a valid session, either of a member or of a portal link. */
export type LiveSession =
  | { readonly session: Session; readonly member: SessionMember; readonly portal: null }
  | { readonly session: Session; readonly member: null; readonly portal: PortalGrant };

/**
 * SessionOwner is the owner of a new session. `continuing` is the session to extend, if the member has not signed in
 * again.
 */
type SessionOwner = { readonly memberId: string; readonly continuing?: Session | undefined } | PortalOwner;

/** BegunSession is a new session with its token in plain text. The database stores only the hash of the token. */
export interface BegunSession {
  readonly token: string;
  readonly session: Session;
}

const LONGEST_USER_AGENT = 300;
/**
 * Minimum time between two writes of a session's last use. With an idle limit of less than ten minutes, the minimum is
 * a tenth of the limit.
 */
const LAST_SEEN_INTERVAL_MS = 60_000;
const WRITES_PER_IDLE_LIMIT = 10;

type Row = Selectable<MemberSessionTable>;

/**
 * Sessions starts, finds, lists and ends the sessions of members and portal links. Methods also reject with the
 * database's error.
 */
export class Sessions {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly limits: () => SessionLimits,
    private readonly notes: BestEffortWrites,
  ) {}

  /**
   * Starts a session with a new token. The browser's previous session ends, against session fixation. With
   * `continuing`, the new session keeps the confirmation time and the end of that session.
   * @param replaced token of the browser's previous session
   * @param trx transaction of the sign-in; by default, the statements run without a transaction
   * @throws Problem `session_ended` if the session to continue has ended
   */
  async createSession(
    owner: SessionOwner,
    method: SignInMethod,
    from: SeenFrom,
    replaced?: string,
    trx: Kysely<Tables> = this.database.db,
  ): Promise<BegunSession> {
    const now = this.clock.now();
    const token = createToken();
    const absoluteMs = 'portal' in owner ? owner.absoluteMs : this.limits().absoluteMs;
    const portal = 'portal' in owner ? owner.portal : undefined;
    const continuing = 'memberId' in owner ? owner.continuing : undefined;
    const scopes = portal?.scopes ?? null;
    const row: Row = {
      hash: hashToken(token),
      id: newId('ses', now),
      member_id: 'memberId' in owner ? owner.memberId : null,
      account_id: portal?.accountId ?? null,
      role: portal?.role ?? null,
      scopes: scopes === null ? null : JSON.stringify(scopes),
      label: portal?.label ?? null,
      return_url: portal?.returnUrl ?? null,
      created_by: 'portal' in owner ? owner.createdBy : null,
      method,
      created_at: now,
      last_seen_at: now,
      ends_at: continuing?.endsAt ?? now + absoluteMs,
      confirmed_at: continuing?.confirmedAt ?? now,
      ip: from.ip,
      user_agent: from.userAgent.slice(0, LONGEST_USER_AGENT),
    };
    const hasReplaced = isToken(replaced) && (await endByHash(trx, hashToken(replaced)));
    if (continuing !== undefined && !hasReplaced) throw new Problem('session_ended', { detail: 'Sign in again.' });
    await trx.insertInto('member_session').values(row).execute();
    return { token, session: this.sessionOf(row) };
  }

  /**
   * Returns the valid session of a cookie, or undefined. Reads the session from the database each time and records its
   * use. If the use cannot be recorded, the session remains valid until its recorded last use exceeds the idle limit.
   * @param isAttended false for background requests of the page, which do not count as use
   */
  async findSession(token: string, isAttended = true): Promise<LiveSession | undefined> {
    if (!isToken(token)) return undefined;
    const row = await this.database.db
      .selectFrom('member_session as session')
      .leftJoin('member', 'member.id', 'session.member_id')
      .selectAll('session')
      .select(['member.email', 'member.name', 'member.is_operator', 'member.status'])
      .where('session.hash', '=', hashToken(token))
      .executeTakeFirst();
    if (row === undefined || this.hasEnded(row)) return undefined;
    if (row.member_id !== null && row.status !== 'active') return undefined;
    if (isAttended) await this.recordUse(row);
    const session = this.sessionOf(row);
    if (row.member_id === null) return { session, member: null, portal: portalOf(row) };
    const { email, name, is_operator: isOperator } = row;
    const member = { id: row.member_id, email: email ?? '', name: name ?? '', isOperator: isOperator === 1 };
    return { session, member, portal: null };
  }

  /** Lists the member's valid sessions, most recently used first. */
  async list(memberId: string): Promise<readonly Session[]> {
    const rows = await this.database.db
      .selectFrom('member_session')
      .selectAll()
      .where('member_id', '=', memberId)
      .orderBy('last_seen_at', 'desc')
      .execute();
    return rows.filter((row) => !this.hasEnded(row)).map((row) => this.sessionOf(row));
  }

  /**
   * Records that the member confirmed their identity. The recorded time always differs from `createdAt`. Returns
   * undefined if the session has ended.
   */
  async recordConfirmation(id: string): Promise<Session | undefined> {
    const now = this.clock.now();
    const update = this.database.db.updateTable('member_session').set(({ eb }) => ({
      confirmed_at: eb
        .case()
        .when('created_at', '=', now)
        .then(now + 1)
        .else(now)
        .end(),
    }));
    const row = await update.where('id', '=', id).returningAll().executeTakeFirst();
    return row === undefined ? undefined : this.sessionOf(row);
  }

  /**
   * Ends one session of a member.
   * @throws Problem `resource_not_found` if the member has no session with this ID
   */
  async endOne(memberId: string, id: string, context: ChangeContext): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const ended = trx.deleteFrom('member_session').where('id', '=', id).where('member_id', '=', memberId);
      if ((await ended.executeTakeFirst()).numDeletedRows === 0n) {
        throw new Problem('resource_not_found', { detail: 'Not found. No session has this id.' });
      }
      const target = { accountId: null, targetType: 'session', targetId: id } as const;
      const change = { action: 'session.ended', before: { member: memberId }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, this.clock.now());
    });
  }

  /** Ends all sessions of a member, except the session with the ID `except`. */
  async endAll(memberId: string, context: ChangeContext, except?: string): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const count = await endSessionsOf(trx, memberId, except);
      if (count === 0) return;
      const target = { accountId: null, targetType: 'member', targetId: memberId } as const;
      const change = { action: 'member.sessions_ended', before: { sessions: count }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, this.clock.now());
    });
  }

  /** Ends the session of a cookie. Does nothing if the session no longer exists. */
  async signOut(token: string, context: ChangeContext): Promise<void> {
    if (!isToken(token)) return;
    await this.database.db.transaction().execute(async (trx) => {
      const ended = trx.deleteFrom('member_session').where('hash', '=', hashToken(token));
      const row = await ended.returning(['id', 'member_id', 'account_id']).executeTakeFirst();
      if (row === undefined) return;
      const target = { accountId: row.account_id, targetType: 'session', targetId: row.id } as const;
      const change = { action: 'session.signed_out', before: { member: row.member_id }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, this.clock.now());
    });
  }

  private async recordUse(row: Row): Promise<void> {
    const now = this.clock.now();
    const interval = Math.min(LAST_SEEN_INTERVAL_MS, this.limits().idleMs / WRITES_PER_IDLE_LIMIT);
    // If the clock was set back, the difference is negative, and nothing is written.
    if (now - row.last_seen_at < interval) return;
    const seen = this.database.db.updateTable('member_session').set({ last_seen_at: now });
    if (await this.notes.write(() => seen.where('hash', '=', row.hash).execute())) row.last_seen_at = now;
  }

  private hasEnded(row: Pick<Row, 'ends_at' | 'last_seen_at'>): boolean {
    const now = this.clock.now();
    return row.ends_at <= now || row.last_seen_at + this.limits().idleMs <= now;
  }

  private sessionOf(row: Row): Session {
    return {
      id: row.id,
      method: row.method,
      createdAt: row.created_at,
      lastSeenAt: row.last_seen_at,
      idleUntil: Math.min(row.last_seen_at + this.limits().idleMs, row.ends_at),
      endsAt: row.ends_at,
      confirmedAt: row.confirmed_at,
      ip: row.ip,
      userAgent: row.user_agent,
    };
  }
}

/** Deletes the session with this token hash. Returns whether the session existed. */
async function endByHash(db: Kysely<Tables>, hash: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('member_session').where('hash', '=', hash).executeTakeFirst();
  return numDeletedRows === 1n;
}

/**
 * Ends sessions of a member within a transaction. Returns the number of ended sessions.
 * @param except ID of the session to keep
 */
export async function endSessionsOf(
  trx: Transaction<Tables>,
  memberId: MemberTable['id'],
  except?: string,
): Promise<number> {
  let sessions = trx.deleteFrom('member_session').where('member_id', '=', memberId);
  if (except !== undefined) sessions = sessions.where('id', '!=', except);
  return Number((await sessions.executeTakeFirst()).numDeletedRows);
}

/**
 * Locks a member and checks that their session still exists. Call it before adding a sign-in method. Otherwise, a
 * request that was authorized before a reset could add a method after the reset.
 * @throws Problem `session_ended`
 */
export async function lockMemberWithLiveSession(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  memberId: string,
  sessionId: string,
): Promise<void> {
  await lockMember(trx, kind, memberId);
  const own = trx.selectFrom('member_session').select('id').where('id', '=', sessionId);
  if ((await own.where('member_id', '=', memberId).executeTakeFirst()) === undefined)
    throw new Problem('session_ended');
}

function portalOf(row: Row): PortalGrant {
  const { account_id: accountId, role, scopes, label, return_url: returnUrl } = row;
  if (accountId === null || role === null) throw new Error(`session ${row.id} is of nobody`);
  return {
    accountId,
    role,
    scopes: scopes === null ? null : (JSON.parse(scopes) as string[]),
    label: label ?? '',
    returnUrl: returnUrl ?? '',
  };
}

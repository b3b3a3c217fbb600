/**
 * Browsers that are signed in. A session is looked up with every request and kept nowhere else, so that its end is in
 * force with the next request on every node.
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
import type { PassingNotes } from './passing-notes.js';
import type { Role } from './permissions.js';
import { createToken, hashToken, isToken } from './session-token.js';

/** How long a session may last. */
export interface SessionLimits {
  /** Without a request. */
  readonly idleMs: number;
  /** Whatever is done in it. */
  readonly absoluteMs: number;
}

/** How a session was begun. */
export type SignInMethod = MemberSessionTable['method'];

/** Where a request comes from, as a list of sessions shows it. */
export interface SeenFrom {
  readonly ip: string;
  readonly userAgent: string;
}

/** What a portal session may, and for whom. */
export interface PortalGrant {
  readonly accountId: string;
  readonly role: Role;
  /** The session sees and manages only keys with no other scopes; null: all keys. */
  readonly scopes: readonly string[] | null;
  readonly label: string;
  /** Where the panel leads back to. */
  readonly returnUrl: string;
}

/** The owner of a new portal session. */
export interface PortalOwner {
  readonly portal: PortalGrant;
  readonly absoluteMs: number;
  /** Who made the link, as an actor of the audit log. */
  readonly createdBy: string;
}

/** A session as it is shown. */
export interface Session extends SeenFrom {
  readonly id: string;
  readonly method: SignInMethod;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  /** When it ends unless something is asked for in it. */
  readonly idleUntil: number;
  readonly endsAt: number;
  /** When the person last confirmed. Equal to `createdAt` where they only signed in. */
  readonly confirmedAt: number;
}

/** The member of a session, as each request needs them. */
export interface SessionMember {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
}

/** A session that holds: of a member, or of a portal link. */
export type LiveSession =
  | { readonly session: Session; readonly member: SessionMember; readonly portal: null }
  | { readonly session: Session; readonly member: null; readonly portal: PortalGrant };

/** Whose a new session is; `continuing` is the one that it goes on from, where nobody has signed in anew. */
type SessionOwner = { readonly memberId: string; readonly continuing?: Session | undefined } | PortalOwner;

/** A session with its secret, at the only moment at which that exists in the clear. */
export interface BegunSession {
  readonly token: string;
  readonly session: Session;
}

const LONGEST_USER_AGENT = 300;
/** Being seen is written at most so often, and for short idle limits more often. */
const LAST_SEEN_INTERVAL_MS = 60_000;
const WRITES_PER_IDLE_LIMIT = 10;

type Row = Selectable<MemberSessionTable>;

/** Sessions of members and of portal links. */
export class Sessions {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly limits: () => SessionLimits,
    private readonly notes: PassingNotes,
  ) {}

  /**
   * Begins a session under a new secret. The one that the browser brought ends with it: nobody can have planted it. One
   * that goes on from it (`continuing`) shows nobody who it is again, and lasts no longer.
   * @throws Problem `session_ended` where what it would go on from has ended meanwhile.
   * @param trx the transaction of the sign-in, where it is one.
   */
  async begin(
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
   * The session of a cookie, if it holds; each call is a look into the database, and counts as being seen. Where that
   * cannot be written it holds all the same, until it has not been seen for too long by what was written last.
   * @param isAttended false where a page asks by itself, with nobody at it: that is not being seen.
   */
  async find(token: string, isAttended = true): Promise<LiveSession | undefined> {
    if (!isToken(token)) return undefined;
    const row = await this.database.db
      .selectFrom('member_session as session')
      .leftJoin('member', 'member.id', 'session.member_id')
      .selectAll('session')
      .select(['member.email', 'member.name', 'member.is_operator', 'member.status'])
      .where('session.hash', '=', hashToken(token))
      .executeTakeFirst();
    if (row === undefined || this.isOver(row)) return undefined;
    if (row.member_id !== null && row.status !== 'active') return undefined;
    if (isAttended) await this.noteSeen(row);
    const session = this.sessionOf(row);
    if (row.member_id === null) return { session, member: null, portal: portalOf(row) };
    const { email, name, is_operator: isOperator } = row;
    const member = { id: row.member_id, email: email ?? '', name: name ?? '', isOperator: isOperator === 1 };
    return { session, member, portal: null };
  }

  /** The sessions of a member that hold, the one last seen first. */
  async list(memberId: string): Promise<readonly Session[]> {
    const rows = await this.database.db
      .selectFrom('member_session')
      .selectAll()
      .where('member_id', '=', memberId)
      .orderBy('last_seen_at', 'desc')
      .execute();
    return rows.filter((row) => !this.isOver(row)).map((row) => this.sessionOf(row));
  }

  /** Records that the person of a session has confirmed. The time differs from that of the sign-in. */
  async confirm(id: string): Promise<Session | undefined> {
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

  /** Ends one session of a member. Rejects with `resource_not_found` for one that is not theirs. */
  async endOne(memberId: string, id: string, context: ChangeContext): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const ended = trx.deleteFrom('member_session').where('id', '=', id).where('member_id', '=', memberId);
      if ((await ended.executeTakeFirst()).numDeletedRows === 0n) {
        throw new Problem('resource_not_found', { detail: 'There is no session with this id.' });
      }
      const target = { accountId: null, targetType: 'session', targetId: id } as const;
      const change = { action: 'session.ended', before: { member: memberId }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, this.clock.now());
    });
  }

  /** Ends the sessions of a member, but the one with that id. */
  async endAll(memberId: string, context: ChangeContext, except?: string): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const count = await endSessionsOf(trx, memberId, except);
      if (count === 0) return;
      const target = { accountId: null, targetType: 'member', targetId: memberId } as const;
      const change = { action: 'member.sessions_ended', before: { sessions: count }, after: null } as const;
      await recordChange(trx, context, { ...target, ...change }, this.clock.now());
    });
  }

  /** Ends the session of a cookie, if it is there: its own browser has signed out. */
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

  private async noteSeen(row: Row): Promise<void> {
    const now = this.clock.now();
    const interval = Math.min(LAST_SEEN_INTERVAL_MS, this.limits().idleMs / WRITES_PER_IDLE_LIMIT);
    // A clock that was set back is no reason to write with every request.
    if (now - row.last_seen_at < interval) return;
    const seen = this.database.db.updateTable('member_session').set({ last_seen_at: now });
    if (await this.notes.write(() => seen.where('hash', '=', row.hash).execute())) row.last_seen_at = now;
  }

  private isOver(row: Pick<Row, 'ends_at' | 'last_seen_at'>): boolean {
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

/** Ends one session; whether it was there. */
async function endByHash(db: Kysely<Tables>, hash: string): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('member_session').where('hash', '=', hash).executeTakeFirst();
  return numDeletedRows === 1n;
}

/**
 * Ends sessions of a member in the transaction of what ends them.
 * @param except the id of the one that stays.
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
 * Holds a member and their session until the transaction ends. Call it before a change of what signs the member in: a
 * request that was let in before a reset must not add anything after it.
 * @throws Problem `session_ended`
 */
export async function holdSession(
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

/**
 * Creates, checks and revokes account tokens. An account token is a bearer token for programs, limited to one account
 * and one role. Programs can use the token until it expires or is revoked.
 */
import type { Selectable } from 'kysely';
import { lockAccount } from '../accounts/accounts.js';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import { newId } from '../stores/database/ids.js';
import type { AccountTokenTable } from '../stores/database/tables/member-tables.js';
import { AllowedNetworks } from '../keys/allowed-networks.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import { Problem } from '../platform/problems/errors.js';
import { createTokenSecret, isTokenSecret, tokenHintOf, type CreateAccountToken } from './account-token-fields.js';
import { checkCreator } from './credentials.js';
import type { BestEffortWrites } from './best-effort-writes.js';
import { hashToken } from './session-token.js';

/** AccountToken is an account token without its secret. Times are in milliseconds since the epoch. */
export interface AccountToken {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly role: 'admin' | 'viewer';
  readonly status: 'active' | 'expired' | 'revoked';
  /** Prefix and last four characters of the secret. */
  readonly hint: string;
  readonly allowedIps: readonly string[];
  readonly expiresAt: number;
  readonly lastUsedAt: number | null;
  /** ID of the member who created the token, or another actor of the audit log. */
  readonly createdBy: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

type Row = Selectable<AccountTokenTable>;

const LONGEST_LIFE_MS = 366 * 86_400_000;
/** Minimum time between two writes of a token's last use. */
const LAST_USED_INTERVAL_MS = 60_000;

/**
 * AccountTokens creates, lists, revokes and finds tokens. Methods reject with a `Problem` for errors of the caller, and
 * with the database's error otherwise.
 */
export class AccountTokens {
  private readonly networks: AllowedNetworks;

  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly notes: BestEffortWrites,
    log: Logger,
  ) {
    this.networks = new AllowedNetworks(log);
  }

  /**
   * Creates a token. Only this method returns the secret. The token ends when its creator may no longer create tokens.
   * @throws Problem `validation_failed` for the expiration, `resource_not_found` for the account, `forbidden` if the
   * creator lost their role in the meantime
   */
  async create(
    accountId: string,
    input: CreateAccountToken,
    context: ChangeContext,
  ): Promise<{ readonly token: AccountToken; readonly secret: string }> {
    const now = this.clock.now();
    const expiresAt = Date.parse(input.expires_at);
    if (expiresAt <= now || expiresAt > now + LONGEST_LIFE_MS) {
      const detail = expiresAt <= now ? 'must be in the future' : 'must be at most 366 days from now';
      const errors = [{ pointer: '#/expires_at', detail }];
      throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
    }
    const secret = createTokenSecret();
    const row: Row = {
      id: newId('tok', now),
      account_id: accountId,
      name: input.name,
      role: input.role,
      hash: hashToken(secret),
      hint: tokenHintOf(secret),
      allowed_ips: JSON.stringify(input.allowed_ips),
      expires_at: expiresAt,
      last_used_at: null,
      created_by: context.actor,
      created_at: now,
      revoked_at: null,
    };
    const { name, role, allowed_ips: allowedIps } = input;
    const after = { name, role, allowed_ips: allowedIps, expires_at: new Date(expiresAt).toISOString() };
    await this.database.db.transaction().execute(async (trx) => {
      await checkCreator(trx, this.database.kind, context, { type: 'account_token', role: input.role }, accountId);
      await lockAccount(trx, this.database.kind, accountId);
      await trx.insertInto('account_token').values(row).execute();
      const change = { ...targetOf(row), action: 'account_token.created', before: null, after } as const;
      await recordChange(trx, context, change, now);
    });
    return { token: tokenOf(row, now), secret };
  }

  /** Returns a page of an account's tokens in order of creation, including expired and revoked tokens. */
  async list(accountId: string, { limit, cursor }: PageRequest): Promise<Page<AccountToken>> {
    const list = `tokens:${accountId}`;
    const now = this.clock.now();
    let query = this.database.db.selectFrom('account_token').selectAll().where('account_id', '=', accountId);
    if (cursor !== undefined) query = query.where('id', '>', decodeCursor(list, cursor));
    const rows = await query
      .orderBy('id')
      .limit(limit + 1)
      .execute();
    return pageOf(list, limit, rows, (row) => tokenOf(row, now));
  }

  /**
   * Reads the names of the members who created these tokens, by member ID. A member without a name gets their email
   * address. Erased members have no entry.
   */
  async creatorNames(tokens: readonly AccountToken[]): Promise<ReadonlyMap<string, string>> {
    const ids = [...new Set(tokens.map(({ createdBy }) => createdBy))];
    if (ids.length === 0) return new Map();
    const members = this.database.db.selectFrom('member').select(['id', 'name', 'email']).where('id', 'in', ids);
    const rows = await members.where('removed_at', 'is', null).execute();
    return new Map(rows.map(({ id, name, email }) => [id, name || email]));
  }

  /**
   * Revokes a token. Revoking a revoked token changes nothing.
   * @throws Problem `resource_not_found`
   */
  async revoke(accountId: string, id: string, context: ChangeContext): Promise<AccountToken> {
    const now = this.clock.now();
    return this.database.db.transaction().execute(async (trx) => {
      await lockAccount(trx, this.database.kind, accountId);
      const ofAccount = trx.selectFrom('account_token').selectAll().where('account_id', '=', accountId);
      const row = await ofAccount.where('id', '=', id).executeTakeFirst();
      if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No token has this id.' });
      if (row.revoked_at !== null) return tokenOf(row, now);
      await trx.updateTable('account_token').set({ revoked_at: now }).where('id', '=', id).execute();
      const change = { before: { status: 'active' }, after: { status: 'revoked' } };
      await recordChange(trx, context, { ...targetOf(row), action: 'account_token.revoked', ...change }, now);
      return tokenOf({ ...row, revoked_at: now }, now);
    });
  }

  /**
   * Returns the active token with this secret, or undefined. Records the token's use at most once a minute. If the
   * database accepts no writes, the use is not recorded.
   */
  async find(secret: string): Promise<AccountToken | undefined> {
    if (!isTokenSecret(secret)) return undefined;
    const { db } = this.database;
    const now = this.clock.now();
    const byHash = db.selectFrom('account_token').selectAll().where('hash', '=', hashToken(secret));
    const row = await byHash.executeTakeFirst();
    if (row === undefined) return undefined;
    const token = tokenOf(row, now);
    if (token.status !== 'active') return undefined;
    if (row.last_used_at === null || now - row.last_used_at >= LAST_USED_INTERVAL_MS) {
      const used = db.updateTable('account_token').set({ last_used_at: now }).where('id', '=', row.id);
      await this.notes.write(() => used.execute());
    }
    return token;
  }

  /**
   * Reports whether the token may be used from an address. A token without allowed networks may be used from every
   * address.
   */
  mayBeUsedFrom({ id, allowedIps }: AccountToken, address: string): boolean {
    return this.networks.read(allowedIps, id)?.holds(address) ?? true;
  }
}

function targetOf(row: Row): { accountId: string; targetType: 'account_token'; targetId: string } {
  return { accountId: row.account_id, targetType: 'account_token', targetId: row.id };
}

function tokenOf(row: Row, nowMs: number): AccountToken {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    role: row.role,
    status: row.revoked_at !== null ? 'revoked' : row.expires_at <= nowMs ? 'expired' : 'active',
    hint: row.hint,
    allowedIps: JSON.parse(row.allowed_ips) as string[],
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    createdBy: row.created_by,
    createdAt: row.created_at,
    revokedAt: row.revoked_at,
  };
}

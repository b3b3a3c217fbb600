/**
 * Requests that make something and may be sent again, because their response was lost. Whoever sends one first claims
 * its key; the change writes down in its own transaction that it is done, so that neither exists without the other.
 * A claim whose process was killed before that is free again after a while.
 */
import { createHash } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';

/** A retry that comes later is a new request. */
const KEPT_MS = 86_400_000;
/** Longer than any change takes: its statements have deadlines of two seconds each. */
const CLAIM_MS = 30_000;
const CLAIM_ATTEMPTS = 3;
/** So many rows are forgotten in one statement. */
const FORGOTTEN_AT_ONCE = 1_000;

/** What a repeated request is told again. */
export interface KeptResponse {
  readonly status: number;
  /** The path of what was made, where it has one. */
  readonly location: string | null;
  /** JSON; null where it held a secret, which is kept nowhere. */
  readonly body: string | null;
}

/** A request that is under way. */
export interface Claim {
  readonly principal: string;
  readonly keyHash: string;
  /** Tells it from whoever took the key over. */
  readonly claimedAtMs: number;
}

/** What came of a claim. */
export type Claimed =
  | { readonly state: 'claimed'; readonly claim: Claim }
  | { readonly state: 'done'; readonly response: KeptResponse }
  | { readonly state: 'under_way' }
  | { readonly state: 'mismatch' };

/** IdempotentRequests keeps what has been done by key, for a day. */
export class IdempotentRequests {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /**
   * Claims a key, or says what is known of it.
   * @param principal whose key it is: those of others are other keys.
   * @param fingerprint of the request; another request under the same key is a mistake.
   */
  async claim(principal: string, key: string, fingerprint: string): Promise<Claimed> {
    const keyHash = createHash('sha256').update(key).digest('hex');
    for (let attempt = 1; attempt <= CLAIM_ATTEMPTS; attempt++) {
      const now = this.clock.now();
      const claim = { principal, keyHash, claimedAtMs: now };
      if (await this.insert(claim, fingerprint)) return { state: 'claimed', claim };
      const row = await this.rowOf(claim).selectAll().executeTakeFirst();
      // It was given back in this moment.
      if (row === undefined) continue;
      const isOver = row.expires_at <= now;
      if (!isOver) {
        if (row.fingerprint !== fingerprint) return { state: 'mismatch' };
        if (row.status !== null) return { state: 'done', response: responseOf(row.status, row.headers, row.body) };
        if (now - row.created_at < CLAIM_MS) return { state: 'under_way' };
      }
      if (await this.takeOver(claim, fingerprint, row.created_at)) return { state: 'claimed', claim };
    }
    return { state: 'under_way' };
  }

  /** Gives a claim back of which nothing came: the request may be tried again. */
  async release({ principal, keyHash, claimedAtMs }: Claim): Promise<void> {
    const mine = this.db.deleteFrom('idempotency').where('principal', '=', principal).where('key_hash', '=', keyHash);
    await mine.where('created_at', '=', claimedAtMs).where('status', 'is', null).execute();
  }

  /** Forgets what was kept for a day, a part at a time; resolves with how many. */
  async deleteOld(isStopped: IsStopped = neverStopped): Promise<number> {
    const { db } = this;
    for (let total = 0; ;) {
      const old = db.selectFrom('idempotency').select(['principal', 'key_hash']);
      const some = old.where('expires_at', '<=', this.clock.now()).limit(FORGOTTEN_AT_ONCE);
      const result = await db
        .deleteFrom('idempotency')
        .where(({ eb, refTuple }) =>
          eb(refTuple('principal', 'key_hash'), 'in', some.$asTuple('principal', 'key_hash')),
        )
        .executeTakeFirst();
      const deleted = Number(result.numDeletedRows);
      total += deleted;
      if (deleted < FORGOTTEN_AT_ONCE || isStopped()) return total;
    }
  }

  private async insert({ principal, keyHash, claimedAtMs }: Claim, fingerprint: string): Promise<boolean> {
    const row = { principal, key_hash: keyHash, fingerprint, status: null, headers: null, body: null };
    const inserted = await this.db
      .insertInto('idempotency')
      .values({ ...row, created_at: claimedAtMs, expires_at: claimedAtMs + KEPT_MS })
      .onConflict((conflict) => conflict.columns(['principal', 'key_hash']).doNothing())
      .returning('created_at')
      .executeTakeFirst();
    return inserted !== undefined;
  }

  private async takeOver({ principal, keyHash, claimedAtMs }: Claim, fingerprint: string, from: number) {
    const blank = { fingerprint, status: null, headers: null, body: null };
    const taken = await this.db
      .updateTable('idempotency')
      .set({ ...blank, created_at: claimedAtMs, expires_at: claimedAtMs + KEPT_MS })
      .where('principal', '=', principal)
      .where('key_hash', '=', keyHash)
      // Of those who find it at once one is the first.
      .where('created_at', '=', from)
      .where((where) => where.or([where('status', 'is', null), where('expires_at', '<=', claimedAtMs)]))
      .returning('created_at')
      .executeTakeFirst();
    return taken !== undefined;
  }

  private rowOf({ principal, keyHash }: Claim) {
    return this.db.selectFrom('idempotency').where('principal', '=', principal).where('key_hash', '=', keyHash);
  }
}

/**
 * Writes down in the transaction of the change that it is done. Throws where the key has been taken over meanwhile:
 * then the change must not be made a second time.
 */
export async function completeClaim(trx: Transaction<Tables>, claim: Claim, location: string | null): Promise<void> {
  const done = { status: 201, headers: location === null ? null : JSON.stringify({ Location: location }) };
  const { principal, keyHash, claimedAtMs } = claim;
  const completed = await trx
    .updateTable('idempotency')
    // A change of several entries keeps what the first has said.
    .set((set) => ({ status: done.status, headers: set.fn.coalesce('headers', set.val(done.headers)) }))
    .where('principal', '=', principal)
    .where('key_hash', '=', keyHash)
    .where('created_at', '=', claimedAtMs)
    .returning('status')
    .executeTakeFirst();
  if (completed === undefined)
    throw new Problem('idempotency_in_progress', { detail: 'Another request has this key.' });
}

/** Keeps the body for whoever asks again, in the same transaction. Never of a response that holds a secret. */
export async function keepBody(trx: Transaction<Tables>, claim: Claim, body: object): Promise<void> {
  const { principal, keyHash, claimedAtMs } = claim;
  const mine = trx.updateTable('idempotency').where('principal', '=', principal).where('key_hash', '=', keyHash);
  await mine
    .where('created_at', '=', claimedAtMs)
    .set({ body: JSON.stringify(body) })
    .execute();
}

function responseOf(status: number, headers: string | null, body: string | null): KeptResponse {
  const { Location = null } = headers === null ? {} : (JSON.parse(headers) as { Location?: string });
  return { status, location: Location, body };
}

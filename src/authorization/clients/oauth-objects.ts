/**
 * What the authorization server keeps for a while, in our own database: each by the SHA-256 of what it is presented by,
 * so that whoever reads the table can present nothing.
 */
import type { Kysely } from 'kysely';
import { deleteExpiredRows } from '../../stores/database/expired-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import { hashSecret } from '../../keys/api-key-format.js';
import type { Clock } from '../../platform/clock.js';
import { ObjectRoom, type ObjectOrigin, type RoomBounds } from './object-room.js';
import { neverStopped, type IsStopped } from '../../platform/repeated-run.js';

const PAST = { table: 'oauth_object', key: 'hash', until: 'expires_at' } as const;

/** StoredPayload is what is kept of an object: JSON. */
export type StoredPayload = Readonly<Record<string, unknown>>;

/** StoredObject is an object that has not expired. */
export interface StoredObject {
  readonly payload: StoredPayload;
  /** Milliseconds since the epoch; null: it was not used. */
  readonly consumedAt: number | null;
}

/** ObjectOwner says what an object belongs to. */
export interface ObjectOwner {
  /** The key that it leads to. */
  readonly keyId?: string | undefined;
  /** Who caused it, of objects that an `ObjectRoom` counts. */
  readonly origin?: ObjectOrigin;
}

/** OAuthObjects reads and writes them. Rejects with the database's error. */
export class OAuthObjects {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /** The same in a transaction. */
  within(trx: Kysely<Tables>): OAuthObjects {
    return new OAuthObjects(trx, this.clock);
  }

  /** Keeps an object until a time, ms since the epoch; one of the same kind and id is replaced, used or not. */
  async put(
    kind: string,
    id: string,
    payload: StoredPayload,
    expiresAtMs: number,
    of: ObjectOwner = {},
  ): Promise<void> {
    const { keyId = null, origin = {} } = of;
    const values = { api_key_id: keyId, payload: JSON.stringify(payload), expires_at: expiresAtMs, ...origin };
    await this.db
      .insertInto('oauth_object')
      .values({ kind, hash: hashSecret(id), consumed_at: null, network: '', site: '', client: '', ...values })
      .onConflict((conflict) => conflict.columns(['kind', 'hash']).doUpdateSet(values))
      .execute();
  }

  /** Undefined where there is none, or none any more. */
  async find(kind: string, id: string): Promise<StoredObject | undefined> {
    const row = await this.db
      .selectFrom('oauth_object')
      .select(['payload', 'consumed_at'])
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('expires_at', '>', this.clock.now())
      .executeTakeFirst();
    return row && { payload: JSON.parse(row.payload) as StoredPayload, consumedAt: row.consumed_at };
  }

  /** Changes what is kept of an object that has not expired. @returns whether there is one. */
  async change(kind: string, id: string, payload: StoredPayload): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('oauth_object')
      .set({ payload: JSON.stringify(payload) })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('expires_at', '>', this.clock.now())
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Keeps an object that has not expired until a later time. */
  async keepUntil(kind: string, id: string, expiresAtMs: number): Promise<void> {
    await this.db
      .updateTable('oauth_object')
      .set({ expires_at: expiresAtMs })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('expires_at', '>', this.clock.now())
      .where('expires_at', '<', expiresAtMs)
      .execute();
  }

  /** Uses what works once. @returns false: somebody has, at the same time perhaps. */
  async consume(kind: string, id: string): Promise<boolean> {
    const now = this.clock.now();
    const { numUpdatedRows } = await this.db
      .updateTable('oauth_object')
      .set({ consumed_at: now })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('consumed_at', 'is', null)
      .where('expires_at', '>', now)
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Takes back that an object was used, where what it was used for came to nothing. */
  async release(kind: string, id: string): Promise<void> {
    await this.db
      .updateTable('oauth_object')
      .set({ consumed_at: null })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .execute();
  }

  /** Forgets one. */
  async forget(kind: string, id: string): Promise<void> {
    await this.db.deleteFrom('oauth_object').where('kind', '=', kind).where('hash', '=', hashSecret(id)).execute();
  }

  /** Forgets those of a kind that lead to a key. */
  async forgetOfKey(kind: string, keyId: string): Promise<void> {
    await this.db.deleteFrom('oauth_object').where('kind', '=', kind).where('api_key_id', '=', keyId).execute();
  }

  /** Returns what bounds objects of a kind. */
  room(bounds: RoomBounds): ObjectRoom {
    return new ObjectRoom(this.db, this.clock, bounds);
  }

  /** Forgets what has expired; resolves with how many. Run by the worker role. */
  forgetExpired(isStopped: IsStopped = neverStopped): Promise<number> {
    return deleteExpiredRows(this.db, PAST, this.clock.now(), isStopped);
  }
}

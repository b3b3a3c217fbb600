/**
 * Stores temporary objects of the authorization server in the database, such as codes and refresh tokens. Each object
 * is stored under the SHA-256 of its ID, so that someone who reads the table cannot use the object.
 */
import type { Kysely } from 'kysely';
import { deleteExpiredRows } from '../../stores/database/expired-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import { hashSecret } from '../../keys/api-key-format.js';
import type { Clock } from '../../platform/clock.js';
import { ObjectLimits, type ObjectOrigin, type RoomBounds } from './object-limits.js';
import { neverStopped, type IsStopped } from '../../platform/repeated-run.js';

const EXPIRING_TABLE = { table: 'oauth_object', key: 'hash', until: 'expires_at' } as const;

/** StoredPayload is the JSON content of an object. */
export type StoredPayload = Readonly<Record<string, unknown>>;

/** StoredObject is an object that has not expired. */
export interface StoredObject {
  readonly payload: StoredPayload;
  /** Time of the use of a single-use object, in milliseconds since the epoch. Null: unused. */
  readonly consumedAt: number | null;
}

/** ObjectOwner holds the key and the origin that an object belongs to. */
export interface ObjectOwner {
  /** ID of the key that the object gives access to. */
  readonly keyId?: string | undefined;
  /** The network and client that caused the object. Only for kinds that `ObjectLimits` limits. */
  readonly origin?: ObjectOrigin;
}

/** OAuthObjects reads and writes stored objects. Methods reject with the database's error. */
export class OAuthObjects {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
  ) {}

  /** Returns a store that reads and writes in the caller's transaction. */
  inTransaction(trx: Kysely<Tables>): OAuthObjects {
    return new OAuthObjects(trx, this.clock);
  }

  /**
   * Stores an object that expires at `expiresAtMs`, in milliseconds since the epoch. Replaces an object of the same
   * kind and ID. Replacing a used object does not make the object usable again.
   */
  async storeObject(
    kind: string,
    id: string,
    payload: StoredPayload,
    expiresAtMs: number,
    owner: ObjectOwner = {},
  ): Promise<void> {
    const { keyId = null, origin = {} } = owner;
    const values = { api_key_id: keyId, payload: JSON.stringify(payload), expires_at: expiresAtMs, ...origin };
    await this.db
      .insertInto('oauth_object')
      .values({ kind, hash: hashSecret(id), consumed_at: null, network: '', site: '', client: '', ...values })
      .onConflict((conflict) => conflict.columns(['kind', 'hash']).doUpdateSet(values))
      .execute();
  }

  /** Returns an object, or undefined if the object is unknown or expired. */
  async findPayload(kind: string, id: string): Promise<StoredObject | undefined> {
    const row = await this.db
      .selectFrom('oauth_object')
      .select(['payload', 'consumed_at'])
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('expires_at', '>', this.clock.now())
      .executeTakeFirst();
    return row && { payload: JSON.parse(row.payload) as StoredPayload, consumedAt: row.consumed_at };
  }

  /**
   * Replaces the payload of an object.
   * @returns whether the object exists and has not expired
   */
  async replacePayload(kind: string, id: string, payload: StoredPayload): Promise<boolean> {
    const { numUpdatedRows } = await this.db
      .updateTable('oauth_object')
      .set({ payload: JSON.stringify(payload) })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .where('expires_at', '>', this.clock.now())
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Extends the expiration of an object that has not expired. Never shortens its lifetime. */
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

  /**
   * Marks a single-use object as used.
   * @returns false if the object was already used, is unknown or has expired
   */
  async markUsed(kind: string, id: string): Promise<boolean> {
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

  /** Marks an object as unused again, after the action that consumed the object has failed. */
  async unmarkUsed(kind: string, id: string): Promise<void> {
    await this.db
      .updateTable('oauth_object')
      .set({ consumed_at: null })
      .where('kind', '=', kind)
      .where('hash', '=', hashSecret(id))
      .execute();
  }

  /** Deletes an object. */
  async deleteObject(kind: string, id: string): Promise<void> {
    await this.db.deleteFrom('oauth_object').where('kind', '=', kind).where('hash', '=', hashSecret(id)).execute();
  }

  /** Deletes the objects of a kind that belong to a key. */
  async forgetOfKey(kind: string, keyId: string): Promise<void> {
    await this.db.deleteFrom('oauth_object').where('kind', '=', kind).where('api_key_id', '=', keyId).execute();
  }

  /** Returns the `ObjectLimits` that enforces these limits for one kind of object. */
  limitsFor(bounds: RoomBounds): ObjectLimits {
    return new ObjectLimits(this.db, this.clock, bounds);
  }

  /** Deletes expired objects and returns their number. The worker role runs this every ten minutes. */
  forgetExpired(isStopped: IsStopped = neverStopped): Promise<number> {
    return deleteExpiredRows(this.db, EXPIRING_TABLE, this.clock.now(), isStopped);
  }
}

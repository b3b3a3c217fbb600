/**
 * Stores idempotency records in the database, one row per record. All methods reject with the error of the database.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import type { ClaimTerms, Claimed, StoredResponse, Outcome, RecordName, RecordStore } from './record.js';

/**
 * Maximum number of attempts to claim a record. An attempt fails without a result if the record disappears between its
 * insert and its query.
 */
const CLAIM_ATTEMPTS = 3;
/** Maximum number of claims that one statement extends. */
const BATCH_SIZE = 100;

/** RecordTime returns an SQL expression for the current time in ms since the epoch. See `recordTime`. */
export type RecordTime = () => RawBuilder<number>;

/**
 * Returns the clock for records. With PostgreSQL, the clock is that of the database server, which all nodes share. With
 * SQLite, the clock is the monotonic clock of the machine plus `aheadMs`. Records therefore do not expire early if
 * someone sets the system clock ahead.
 * @param aheadMs result of `clockAheadMs` in the first process. All processes of the machine must use the same result.
 */
export function recordTime(kind: DatabaseHandle['kind'], aheadMs: number): RecordTime {
  if (kind === 'postgres') return () => sql`(extract(epoch from statement_timestamp()) * 1000)::bigint`;
  return () => bigintLiteral(Math.floor(machineMs() + aheadMs));
}

/** Returns how many ms a clock is ahead of the monotonic clock of the machine. */
export function clockAheadMs(clock: Clock): number {
  return Math.round(clock.now() - machineMs());
}

/** Returns the time of the monotonic clock in ms. All processes of the machine share this clock. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns the SQL expression for a fixed time or duration in ms. */
export function bigintLiteral(ms: number): RawBuilder<number> {
  return sql`cast(${ms} as bigint)`;
}

/** DatabaseRecords stores the records of the admin API, and those of the gateway if Redis is not configured. */
export class DatabaseRecords implements RecordStore {
  /** Always `plenty`. A full database rejects writes with an error instead. */
  readonly room = 'plenty';

  /**
   * @param lapsed state of a claim whose lease has expired without an outcome.
   * - `unknown`: the request may have been carried out, so no other request can claim the record.
   * - `free`: the request was not carried out, because its outcome is written in the transaction of its change. A
   *   request with the same fingerprint can claim the record again.
   */
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: RecordTime,
    private readonly lapsed: 'unknown' | 'free' = 'unknown',
  ) {}

  async claim(terms: ClaimTerms): Promise<Claimed> {
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
      if (await this.insert(terms)) return { state: 'claimed' };
      const found = await this.find(terms);
      if (found !== undefined) return found;
    }
    return { state: 'under_way' };
  }

  async extend(claims: readonly ClaimTerms[]): Promise<void> {
    for (let from = 0; from < claims.length; from += BATCH_SIZE) {
      const batch = claims.slice(from, from + BATCH_SIZE);
      const leaseMs = batch[0]?.leaseMs ?? 0;
      const minExpiry = this.after(2 * leaseMs);
      await this.db
        .updateTable('idempotent_request')
        .set(({ eb }) => ({
          leased_until: this.after(leaseMs),
          expires_at: eb.case().when('expires_at', '<', minExpiry).then(minExpiry).else(eb.ref('expires_at')).end(),
        }))
        .where(({ eb, refTuple, tuple }) =>
          eb(
            refTuple('api_key_id', 'key_hash'),
            'in',
            batch.map(({ name }) => tuple(name.caller, name.keyHash)),
          ),
        )
        .where(
          'owner',
          'in',
          batch.map(({ owner }) => owner),
        )
        .where('status', 'is', null)
        .where('leased_until', '>', 0)
        .where('expires_at', '>', this.now())
        .execute();
    }
  }

  async end({ name, fingerprint, owner, retentionMs }: ClaimTerms, outcome: Outcome): Promise<boolean> {
    const done = outcome.kind === 'done' ? outcome : undefined;
    const response = done?.response;
    const ended = {
      leased_until: 0,
      status: done?.status ?? null,
      body_hash: done?.bodyHash ?? null,
      code: response?.code ?? null,
      fields: response?.lines ?? null,
      body: response?.body.toString('base64') ?? null,
      expires_at: this.after(retentionMs),
    };
    const written = await this.db
      .insertInto('idempotent_request')
      .values({ ...columnsOf(name), fingerprint, owner, ...ended })
      .onConflict((conflict) =>
        conflict
          .columns(['api_key_id', 'key_hash'])
          .doUpdateSet({ fingerprint, owner, ...ended })
          .where(({ eb, and, or }) =>
            or([
              and([eb('idempotent_request.owner', '=', owner), eb('idempotent_request.status', 'is', null)]),
              eb('idempotent_request.expires_at', '<=', this.now()),
            ]),
          ),
      )
      .returning('owner')
      .executeTakeFirst();
    return written !== undefined;
  }

  async release({ name, owner }: ClaimTerms): Promise<void> {
    await this.db
      .deleteFrom('idempotent_request')
      .where('api_key_id', '=', name.caller)
      .where('key_hash', '=', name.keyHash)
      .where('owner', '=', owner)
      .where('status', 'is', null)
      .execute();
  }

  async read(name: RecordName): Promise<StoredResponse | undefined> {
    const row = await this.rowOf(name).select(['status', 'code', 'fields', 'body']).executeTakeFirst();
    if (row === undefined || row.status === null || row.body === null) return undefined;
    const body = Buffer.from(row.body, 'base64');
    return { status: row.status, code: row.code ?? '', lines: row.fields ?? '', body };
  }

  close(): void {
    // The owner of the database handle closes the database.
  }

  /**
   * Tries to claim the record. Returns true if there was no record, or if the record had expired. With `free`, also
   * returns true if a request with the same fingerprint owned the record and its lease had expired.
   */
  private async insert({ name, fingerprint, owner, leaseMs, retentionMs }: ClaimTerms): Promise<boolean> {
    const blank = { status: null, body_hash: null, code: null, fields: null, body: null };
    const claimed = {
      fingerprint,
      owner,
      ...blank,
      leased_until: this.after(leaseMs),
      expires_at: this.after(retentionMs),
    };
    const inserted = await this.db
      .insertInto('idempotent_request')
      .values({ ...columnsOf(name), ...claimed })
      .onConflict((conflict) =>
        conflict
          .columns(['api_key_id', 'key_hash'])
          .doUpdateSet(claimed)
          .where(({ eb, and, or }) => {
            const expired = eb('idempotent_request.expires_at', '<=', this.now());
            if (this.lapsed === 'unknown') return expired;
            const isOpen = eb('idempotent_request.status', 'is', null);
            const isSame = eb('idempotent_request.fingerprint', '=', fingerprint);
            return or([expired, and([isOpen, isSame, eb('idempotent_request.leased_until', '<=', this.now())])]);
          }),
      )
      .returning('owner')
      .executeTakeFirst();
    return inserted !== undefined;
  }

  /** Returns the state of a record that this claim does not own, or undefined if the record no longer exists. */
  private async find({ name, fingerprint }: ClaimTerms): Promise<Claimed | undefined> {
    const row = await this.rowOf(name)
      .select(['fingerprint', 'status', 'body_hash'])
      .select(({ eb }) => [
        eb.case().when('body', 'is not', null).then(1).else(0).end().as('is_kept'),
        eb.case().when('leased_until', '>', this.now()).then(1).else(0).end().as('is_leased'),
      ])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (row.fingerprint !== fingerprint) return { state: 'mismatch' };
    if (row.status === null) return { state: row.is_leased === 1 ? 'under_way' : 'unknown' };
    return { state: 'done', status: row.status, bodyHash: row.body_hash ?? '', isKept: row.is_kept === 1 };
  }

  private rowOf({ caller, keyHash }: RecordName) {
    return this.db
      .selectFrom('idempotent_request')
      .where('api_key_id', '=', caller)
      .where('key_hash', '=', keyHash)
      .where('expires_at', '>', this.now());
  }

  /** Returns the SQL expression for the time `ms` milliseconds from now. */
  private after(ms: number): RawBuilder<number> {
    return sql`${this.now()} + ${bigintLiteral(ms)}`;
  }
}

function columnsOf({ caller, keyHash }: RecordName) {
  return { api_key_id: caller, key_hash: keyHash };
}

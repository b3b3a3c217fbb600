/** Stores idempotency records in the database, one row per record. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import type { ClaimTerms, Claimed, KeptResponse, Outcome, RecordName, RecordStore } from './record.js';

/** A record can disappear between the insert and the query. Then the claim is tried again. */
const CLAIM_ATTEMPTS = 3;
/** Maximum number of leases per statement. */
const MOST_AT_ONCE = 100;

/** RecordTime returns an SQL expression for the current time in ms. */
export type RecordTime = () => RawBuilder<number>;

/**
 * Returns the clock for records. With PostgreSQL it is the clock of the server, which all nodes share. With SQLite it
 * is the monotonic clock of the machine plus `aheadMs`. If someone sets the system clock ahead, records must not expire
 * early, in this process or in a worker that starts later.
 * @param aheadMs `clockAheadMs` of the first process.
 */
export function recordTime(kind: DatabaseHandle['kind'], aheadMs: number): RecordTime {
  if (kind === 'postgres') return () => sql`(extract(epoch from statement_timestamp()) * 1000)::bigint`;
  return () => instant(Math.floor(machineMs() + aheadMs));
}

/** Returns the difference between a clock and the monotonic clock of the machine, ms. */
export function clockAheadMs(clock: Clock): number {
  return Math.round(clock.now() - machineMs());
}

/** Monotonic time in ms, the same in all processes of the machine. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Returns the SQL expression for a time in ms. */
export function instant(ms: number): RawBuilder<number> {
  return sql`cast(${ms} as bigint)`;
}

/** DatabaseRecords stores the records of the admin API, and those of the gateway if Redis is not configured. */
export class DatabaseRecords implements RecordStore {
  /** Constant, because a full database reports an error itself. */
  readonly room = 'plenty';

  /**
   * @param lapsed state of a claim whose lease ended without an outcome. `unknown`: its request may have been carried
   *   out, and nobody can claim it. `free`: outcomes are written in the transaction of the change, so it was not.
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
    for (let from = 0; from < claims.length; from += MOST_AT_ONCE) {
      const some = claims.slice(from, from + MOST_AT_ONCE);
      const leaseMs = some[0]?.leaseMs ?? 0;
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
            some.map(({ name }) => tuple(name.caller, name.keyHash)),
          ),
        )
        .where(
          'owner',
          'in',
          some.map(({ owner }) => owner),
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

  async read(name: RecordName): Promise<KeptResponse | undefined> {
    const row = await this.rowOf(name).select(['status', 'code', 'fields', 'body']).executeTakeFirst();
    if (row === undefined || row.status === null || row.body === null) return undefined;
    const body = Buffer.from(row.body, 'base64');
    return { status: row.status, code: row.code ?? '', lines: row.fields ?? '', body };
  }

  close(): void {
    // The database is not its own.
  }

  /**
   * Reports whether it claimed the record: there was none, or one that has expired or whose claim has lapsed and is
   * free.
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

  /** Returns the state of a record that another request has, or undefined if it no longer exists. */
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

  private after(ms: number): RawBuilder<number> {
    return sql`${this.now()} + ${instant(ms)}`;
  }
}

function columnsOf({ caller, keyHash }: RecordName) {
  return { api_key_id: caller, key_hash: keyHash };
}

/**
 * Claims idempotency keys for requests that change the database, such as requests to the admin API. `writeOutcome`
 * writes the outcome in the transaction of the change, so neither exists without the other. If the process dies before
 * the commit, a retry can claim the key when the lease has expired.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { recordName } from './fingerprint.js';
import type { ClaimTerms, Claimed, StoredResponse, RecordName } from './record.js';

/** How long a key is kept after its claim. A later request with the key is a new request. */
const RETENTION_MS = 86_400_000;
/** Lease of a claim. A change is always faster, because each of its statements has a deadline of two seconds. */
const CHANGE_LEASE_MS = 30_000;
const OWNER_BYTES = 12;

/** ChangeClaims claims and releases the keys of changes. Its methods reject with the error of the database. */
export class ChangeClaims {
  private readonly records: DatabaseRecords;

  constructor(db: Kysely<Tables>, now: RecordTime) {
    this.records = new DatabaseRecords(db, now, 'free');
  }

  /**
   * Claims the record of a key. Does not wait if another request owns the record.
   * @param actor ID of the caller in the audit log.
   * @param key value of `Idempotency-Key`.
   * @param fingerprint digest of the request including its body.
   * @returns the claim, and in `claimed` the state of its record. The request owns the record only if the state is
   * `claimed`.
   */
  async claim(actor: string, key: string, fingerprint: string): Promise<{ claim: ClaimTerms; claimed: Claimed }> {
    const owner = randomBytes(OWNER_BYTES).toString('base64url');
    const name = recordName(actor, key);
    const times = { leaseMs: CHANGE_LEASE_MS, retentionMs: RETENTION_MS };
    const claim = { name, accountId: '', fingerprint, owner, ...times };
    return { claim, claimed: await this.records.claim(claim) };
  }

  /** Releases the key of a request that has changed nothing. Does nothing after `writeOutcome` was committed. */
  release(claim: ClaimTerms): Promise<void> {
    return this.records.release(claim);
  }

  /**
   * Returns the stored response, or undefined if there is none. Without `writeBody`, the body of the response is empty
   * and its code is `idempotency_secret_shown`.
   */
  read(name: RecordName): Promise<StoredResponse | undefined> {
    return this.records.read(name);
  }
}

/**
 * Records that the request was carried out, in the transaction of its change. Unless `writeBody` follows, retries get
 * the error `idempotency_secret_shown`. A second call in the same transaction keeps the first location.
 * @param location path of the created resource; null if there is none.
 * @throws Problem `idempotency_in_progress` if the claim no longer owns its record. The caller must then roll back the
 * change.
 */
export async function writeOutcome(
  trx: Transaction<Tables>,
  claim: ClaimTerms,
  location: string | null,
): Promise<void> {
  const fields = location === null ? null : `Location: ${location}\r\n`;
  const written = await recordOf(trx, claim)
    .set({ status: 201, leased_until: 0, body_hash: '', code: 'idempotency_secret_shown', body: '' })
    .set((set) => ({ fields: set.fn.coalesce('fields', set.val(fields)) }))
    .returning('owner')
    .executeTakeFirst();
  if (written === undefined) throw new Problem('idempotency_in_progress', { detail: 'Another request has this key.' });
}

/**
 * Stores the response body for retries. Call it after `writeOutcome` in the same transaction, and never with a body
 * that contains a secret.
 */
export async function writeBody(trx: Transaction<Tables>, claim: ClaimTerms, body: object): Promise<void> {
  const stored = Buffer.from(JSON.stringify(body)).toString('base64');
  await recordOf(trx, claim).set({ code: '', body: stored }).execute();
}

/** Returns an update of the claim's record. The update changes nothing if another claim owns the record. */
function recordOf(trx: Transaction<Tables>, { name, owner }: ClaimTerms) {
  return trx
    .updateTable('idempotent_request')
    .where('api_key_id', '=', name.caller)
    .where('key_hash', '=', name.keyHash)
    .where('owner', '=', owner);
}

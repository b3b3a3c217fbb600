/**
 * Claims of requests that change the database themselves, as those of the admin API do. The change writes its outcome in
 * its own transaction, so neither exists without the other. A claim whose process was killed is free again after a while.
 */
import { randomBytes } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { recordName } from './fingerprint.js';
import type { ClaimTerms, Claimed, KeptResponse, RecordName } from './record.js';

/** How long a key is known. A retry that comes later is a new request. */
const RETENTION_MS = 86_400_000;
/** Longer than any change takes: each of its statements has a deadline of two seconds. */
const CHANGE_LEASE_MS = 30_000;
const OWNER_BYTES = 12;

/** ChangeClaims claims keys for changes. Rejects as the database does. */
export class ChangeClaims {
  private readonly records: DatabaseRecords;

  constructor(db: Kysely<Tables>, now: RecordTime) {
    this.records = new DatabaseRecords(db, now, 'free');
  }

  /**
   * Claims a key, or returns what is known of it.
   * @param actor of the audit log, whose key it is.
   * @param key the `Idempotency-Key`.
   * @param fingerprint of the whole request, with its body.
   */
  async claim(actor: string, key: string, fingerprint: string): Promise<{ claim: ClaimTerms; claimed: Claimed }> {
    const owner = randomBytes(OWNER_BYTES).toString('base64url');
    const name = recordName(actor, key);
    const times = { leaseMs: CHANGE_LEASE_MS, retentionMs: RETENTION_MS };
    const claim = { name, accountId: '', fingerprint, owner, ...times };
    return { claim, claimed: await this.records.claim(claim) };
  }

  /** Frees the key of a request that has changed nothing. Does nothing after `writeOutcome`. */
  release(claim: ClaimTerms): Promise<void> {
    return this.records.release(claim);
  }

  /** Returns the response to a request that was done. */
  read(name: RecordName): Promise<KeptResponse | undefined> {
    return this.records.read(name);
  }
}

/**
 * Writes in the transaction of a change that the request was done. Until `writeBody` the response to a retry is
 * `idempotency_secret_shown`. A second call in the same transaction keeps the first location.
 * @param location path of the resource that was made.
 * @throws Problem `idempotency_in_progress` where another request has taken the key over. The change must not commit.
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

/** Stores the body of the response for retries, in the same transaction. Never call it for one that has a secret. */
export async function writeBody(trx: Transaction<Tables>, claim: ClaimTerms, body: object): Promise<void> {
  const stored = Buffer.from(JSON.stringify(body)).toString('base64');
  await recordOf(trx, claim).set({ code: '', body: stored }).execute();
}

function recordOf(trx: Transaction<Tables>, { name, owner }: ClaimTerms) {
  return trx
    .updateTable('idempotent_request')
    .where('api_key_id', '=', name.caller)
    .where('key_hash', '=', name.keyHash)
    .where('owner', '=', owner);
}

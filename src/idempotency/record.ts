/** Types of idempotency records: the record, its states, and the store. */

/** RecordName identifies a record: who sent its request, and the hash of the `Idempotency-Key`. */
export interface RecordName {
  /**
   * ID of the API key (`key_…`), or the actor of a request to the admin API. Callers never see each other's records.
   */
  readonly caller: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  readonly keyHash: string;
}

/**
 * Room says what a store still accepts.
 * - `plenty`: everything.
 * - `tight`: claims and outcomes, but no responses.
 * - `none`: no new claims.
 */
export type Room = 'plenty' | 'tight' | 'none';

/** ClaimTerms identifies a claim and its lifetimes. */
export interface ClaimTerms {
  readonly name: RecordName;
  /** Account that sent the request. */
  readonly accountId: string;
  /** Digest of method, path, query and content type; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Random ID of the claim, unlike that of earlier and later claims of the same record. */
  readonly owner: string;
  /** Time without an extension after which the outcome counts as unknown, ms. */
  readonly leaseMs: number;
  /** How long the record is kept after the claim, and again after its outcome, ms. */
  readonly retentionMs: number;
}

/** Claimed is the result of a claim. */
export type Claimed =
  /** There was no record. The request owns it now. */
  | { readonly state: 'claimed' }
  /** Another request has the record, and its lease is valid. */
  | { readonly state: 'under_way' }
  /** Another request had the record, and its outcome is not known. */
  | { readonly state: 'unknown' }
  /** The key was used with a request that differs in method, path, query or content type. */
  | { readonly state: 'mismatch' }
  /** The request was carried out before. `isKept` says whether its response is stored. */
  | { readonly state: 'done'; readonly bodyHash: string; readonly status: number; readonly isKept: boolean };

/** KeptResponse is a stored response that answers retries. */
export interface KeptResponse {
  readonly status: number;
  /** Error code of the response. Empty if it is not an error of the gateway. */
  readonly code: string;
  /** Header lines to repeat, each with its CRLF, in Latin-1. */
  readonly lines: string;
  readonly body: Buffer;
}

/** Outcome is the result of a request. */
export type Outcome =
  /**
   * It was carried out. `response` is undefined if it is not stored. `bodyHash` is '' if the body was not read
   * completely.
   */
  | {
      readonly kind: 'done';
      readonly bodyHash: string;
      readonly status: number;
      readonly response: KeptResponse | undefined;
    }
  /** It may have been carried out. */
  | { readonly kind: 'unknown' };

/**
 * RecordStore stores idempotency records. Each operation on a record is atomic. Methods reject if the store is
 * unavailable.
 */
export interface RecordStore {
  readonly room: Room;
  /** Claims the record if it is free. Otherwise returns its state. */
  claim(terms: ClaimTerms): Promise<Claimed>;
  /** Extends the leases and records of requests in progress. Does not change claims that have ended. */
  extend(claims: readonly ClaimTerms[]): Promise<void>;
  /**
   * Writes the outcome of a request, even after its lease. Creates the record if it has expired.
   * @returns false if another request has the record, or an outcome is already written.
   */
  end(claim: ClaimTerms, outcome: Outcome): Promise<boolean>;
  /** Deletes the claim of a request that was not carried out, so that it can be sent again. */
  release(claim: ClaimTerms): Promise<void>;
  /** Returns the stored response, or undefined if there is none. */
  read(name: RecordName): Promise<KeptResponse | undefined>;
  /** Stops timers and closes connections. */
  close(): void;
}

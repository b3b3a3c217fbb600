/** Defines idempotency records, their states, and the interface of their stores. */

/** RecordName identifies a record by its caller and the hash of its `Idempotency-Key`. */
export interface RecordName {
  /**
   * ID of the API key (`key_…`), or the actor of a request to the admin API. A caller never sees the records of other
   * callers.
   */
  readonly caller: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  readonly keyHash: string;
}

/**
 * Room is the free capacity of a store.
 * - `plenty`: the store accepts claims, outcomes and responses.
 * - `tight`: the store accepts claims and outcomes, but no responses.
 * - `none`: the store accepts no new claims.
 */
export type Room = 'plenty' | 'tight' | 'none';

/** ClaimTerms identifies a claim and contains its lifetimes. */
export interface ClaimTerms {
  readonly name: RecordName;
  /** ID of the account that sent the request. Empty for requests to the admin API. */
  readonly accountId: string;
  /**
   * Digest of method, path, query and content type; see `fingerprintOf`. For the admin API, digest of method, path,
   * query and body.
   */
  readonly fingerprint: string;
  /** Random ID of the claim. Earlier and later claims of the same record have other IDs. */
  readonly owner: string;
  /** Time in ms without an extension after which the lease expires. */
  readonly leaseMs: number;
  /** How long the record is kept after the claim, in ms. `RecordStore.end` starts this time again. */
  readonly retentionMs: number;
}

/** Claimed is the state of a record after an attempt to claim it. */
export type Claimed =
  /** There was no record. The request owns the record now. */
  | { readonly state: 'claimed' }
  /** Another request owns the record, and its lease is valid. */
  | { readonly state: 'under_way' }
  /** Another request owned the record. Its lease has expired without an outcome. */
  | { readonly state: 'unknown' }
  /** The key was used for a request with another fingerprint. */
  | { readonly state: 'mismatch' }
  /** The request was carried out before. `isKept` tells whether its response is stored. */
  | { readonly state: 'done'; readonly bodyHash: string; readonly status: number; readonly isKept: boolean };

/** StoredResponse is a stored response, which retries get. */
export interface StoredResponse {
  readonly status: number;
  /** Error code of the response. Empty if the response is not an error of the gateway. */
  readonly code: string;
  /** Header lines of the response, each with its CRLF, in Latin-1. */
  readonly lines: string;
  readonly body: Buffer;
}

/** Outcome is how a request ended, if it may have been carried out. */
export type Outcome =
  /**
   * The request was carried out. `response` is undefined if it is not stored. `bodyHash` is empty if the request body
   * was not read completely.
   */
  | {
      readonly kind: 'done';
      readonly bodyHash: string;
      readonly status: number;
      readonly response: StoredResponse | undefined;
    }
  /** The request may or may not have been carried out. */
  | { readonly kind: 'unknown' };

/**
 * RecordStore stores idempotency records in Redis or the database. Each operation on a record is atomic. Methods reject
 * if the store is unavailable.
 */
export interface RecordStore {
  /** Free capacity. The caller checks this value before it claims a record or stores a response. */
  readonly room: Room;
  /** Claims the record if no request owns it. Otherwise returns the state of the record. */
  claim(terms: ClaimTerms): Promise<Claimed>;
  /**
   * Extends the leases of open claims, and keeps their records for at least two leases. Does not change claims that
   * have ended.
   */
  extend(claims: readonly ClaimTerms[]): Promise<void>;
  /**
   * Writes the outcome of a request, even after the lease of its claim has expired. Creates the record if it no longer
   * exists.
   * @returns false if another request owns the record, or if the record already has a status.
   */
  end(claim: ClaimTerms, outcome: Outcome): Promise<boolean>;
  /**
   * Deletes the record of a request that was not carried out, so that the client can send the request again. Does
   * nothing if another request owns the record, or if the record has a status.
   */
  release(claim: ClaimTerms): Promise<void>;
  /** Returns the stored response, or undefined if no response is stored. */
  read(name: RecordName): Promise<StoredResponse | undefined>;
  /** Stops the timers of the store and closes connections that only the store uses. */
  close(): void;
}

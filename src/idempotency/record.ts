/** Types of idempotency records, their states, and their store. */

/** RecordName identifies a record by its caller and the hash of its `Idempotency-Key`. */
export interface RecordName {
  /**
   * ID of the API key (`key_…`), or the actor of a request to the admin API. Callers never see the records of others.
   */
  readonly caller: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  readonly keyHash: string;
}

/**
 * Room is the free capacity of a store.
 * - `plenty`: the store accepts everything.
 * - `tight`: the store accepts claims and outcomes, but no responses.
 * - `none`: the store accepts no new claims.
 */
export type Room = 'plenty' | 'tight' | 'none';

/** ClaimTerms identifies a claim and contains its lifetimes. */
export interface ClaimTerms {
  readonly name: RecordName;
  /** ID of the account that sent the request. Empty for requests to the admin API. */
  readonly accountId: string;
  /** Digest of method, path, query and content type; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Random ID of the claim. Earlier and later claims of the same record have other IDs. */
  readonly owner: string;
  /** Time in ms without an extension after which the outcome counts as unknown. */
  readonly leaseMs: number;
  /** How long the record is kept after the claim, and again after its outcome, in ms. */
  readonly retentionMs: number;
}

/** Claimed is the state of a record after a claim. */
export type Claimed =
  /** There was no record. The request owns the record now. */
  | { readonly state: 'claimed' }
  /** Another request owns the record, and its lease is valid. */
  | { readonly state: 'under_way' }
  /** Another request owned the record. Its lease has expired, and its outcome is unknown. */
  | { readonly state: 'unknown' }
  /** The key was used with a request that differs in method, path, query or content type. */
  | { readonly state: 'mismatch' }
  /** The request was carried out before. `isKept` tells whether its response is stored. */
  | { readonly state: 'done'; readonly bodyHash: string; readonly status: number; readonly isKept: boolean };

/** KeptResponse is a stored response, which is sent for retries. */
export interface KeptResponse {
  readonly status: number;
  /** Error code of the response. Empty if the response is not an error of the gateway. */
  readonly code: string;
  /** Header lines of the response, each with its CRLF, in Latin-1. */
  readonly lines: string;
  readonly body: Buffer;
}

/** Outcome is the result of a request. */
export type Outcome =
  /**
   * The request was carried out. `response` is undefined if it is not stored. `bodyHash` is empty if the request body
   * was not read completely.
   */
  | {
      readonly kind: 'done';
      readonly bodyHash: string;
      readonly status: number;
      readonly response: KeptResponse | undefined;
    }
  /** The request may have been carried out. */
  | { readonly kind: 'unknown' };

/**
 * RecordStore stores idempotency records. Each operation on a record is atomic. Methods reject if the store is
 * unavailable.
 */
export interface RecordStore {
  /** Free capacity, which the caller checks before it claims a record or stores a response. */
  readonly room: Room;
  /** Claims the record if no request owns it. Otherwise returns its state. */
  claim(terms: ClaimTerms): Promise<Claimed>;
  /** Extends the leases of requests in progress, and keeps their records. Does not change claims that have ended. */
  extend(claims: readonly ClaimTerms[]): Promise<void>;
  /**
   * Writes the outcome of a request, even after its lease has expired. Creates the record if it has expired.
   * @returns false if another request owns the record, or if an outcome is already written.
   */
  end(claim: ClaimTerms, outcome: Outcome): Promise<boolean>;
  /** Deletes the claim of a request that was not carried out. The client can send the request again. */
  release(claim: ClaimTerms): Promise<void>;
  /** Returns the stored response, or undefined if there is none. */
  read(name: RecordName): Promise<KeptResponse | undefined>;
  /** Stops timers and closes connections that the store has opened. */
  close(): void;
}

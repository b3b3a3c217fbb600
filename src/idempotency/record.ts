/** What is kept of a request with an `Idempotency-Key`, and where: the record, its states, and the store of records. */

/** RecordName identifies a record: who sent its request, and the hash of the `Idempotency-Key`. */
export interface RecordName {
  /** ID of the API key (`key_…`), or the actor of a request to the admin API. Callers never see each other's records. */
  readonly caller: string;
  /** SHA-256 of the `Idempotency-Key`, base64url. */
  readonly keyHash: string;
}

/**
 * Room says what a store still takes: `plenty`, everything; `tight`, no responses, but what came of requests; `none`,
 * nothing new.
 */
export type Room = 'plenty' | 'tight' | 'none';

/** ClaimTerms is what a request claims its record with. */
export interface ClaimTerms {
  readonly name: RecordName;
  /** Whose request it is. */
  readonly accountId: string;
  /** Digest of method, path, query and content type; see `fingerprintOf`. */
  readonly fingerprint: string;
  /** Tells the request from whoever claims the record before and after it. */
  readonly owner: string;
  /** How long its process may be silent before nobody knows what came of it, ms. */
  readonly leaseMs: number;
  /** How long the record is kept, from its end on, and as long as it has none, ms. */
  readonly retentionMs: number;
}

/** What a claim has found. */
export type Claimed =
  /** Nothing: the record is the request's own now. */
  | { readonly state: 'claimed' }
  /** Another request has it, and its process lives. */
  | { readonly state: 'under_way' }
  /** Another request had it, of which nobody knows what came. */
  | { readonly state: 'unknown' }
  /** It is the record of another request: method, path, query or content type differ. */
  | { readonly state: 'mismatch' }
  /** The request was done before. */
  | { readonly state: 'done'; readonly bodyHash: string; readonly status: number; readonly isKept: boolean };

/** KeptResponse is a response that is told again. */
export interface KeptResponse {
  readonly status: number;
  /** Of the problem that it is; empty for any other response. */
  readonly code: string;
  /** Field lines that are the same each time, each with its CRLF, in Latin-1. */
  readonly lines: string;
  readonly body: Buffer;
}

/** What came of a request. */
export type Outcome =
  /** It was done. `response`: undefined where it is not kept. `bodyHash`: '' where the body was not read whole. */
  | {
      readonly kind: 'done';
      readonly bodyHash: string;
      readonly status: number;
      readonly response: KeptResponse | undefined;
    }
  /** It may have been done. */
  | { readonly kind: 'unknown' };

/** RecordStore keeps records. Whatever it is asked it does as one step, or rejects where it cannot be asked. */
export interface RecordStore {
  readonly room: Room;
  /** Claims a record that nobody has, or says what is known of it. */
  claim(terms: ClaimTerms): Promise<Claimed>;
  /** Extends the leases of requests that are under way, and their records; others stay as they are. */
  extend(claims: readonly ClaimTerms[]): Promise<void>;
  /**
   * Writes down what came of a request, also where its lease is over; makes the record anew where that has gone.
   * @returns whether it stands there now: false where another request has the record.
   */
  end(claim: ClaimTerms, outcome: Outcome): Promise<boolean>;
  /** Forgets a request of which nothing came: it may be sent again. */
  release(claim: ClaimTerms): Promise<void>;
  /** The response that was kept; undefined where there is none any more. */
  read(name: RecordName): Promise<KeptResponse | undefined>;
  /** Lets go of what it holds. */
  close(): void;
}

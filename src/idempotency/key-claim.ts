/** Defines the two results for an accepted request with an `Idempotency-Key`: a claim of its record, or a replay. */
import { createHash } from 'node:crypto';
import type { ClaimTerms, StoredResponse, Outcome } from './record.js';

/** ClaimOwner receives the outcomes of claims and writes them to the store. */
export interface ClaimOwner {
  /** Called once if the request was not carried out. */
  released(terms: ClaimTerms): void;
  /**
   * Called once when the request has an outcome.
   * @param done called once, within about half a second. `isStored` tells whether the response is stored.
   */
  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void;
}

/**
 * KeyClaim is the right of the first request with a key to be carried out. The holder must call `release`,
 * `endAsUnknown` or `end`. Only the first of these calls has an effect. `KeyedRequests` extends the lease until that
 * call.
 */
export class KeyClaim {
  readonly isReplay = false;
  /** Whether no call has ended the claim yet. */
  isOpen = true;
  /** Whether a backend call has taken over the claim and will end it. */
  isTaken = false;
  private readonly body = createHash('sha256');

  constructor(
    readonly terms: ClaimTerms,
    private readonly owner: ClaimOwner,
  ) {}

  /** Adds a piece of the request body to the digest that `end` stores. */
  digestBody(piece: Buffer): void {
    this.body.update(piece);
  }

  /** Releases the claim, unless a backend call has taken it over. */
  releaseIfUnowned(): void {
    if (!this.isTaken) this.release();
  }

  /** Ends the claim of a request that was not carried out. The client can send the request again. */
  release(): void {
    if (this.close()) this.owner.released(this.terms);
  }

  /** Ends the claim of a request that may have been carried out. Retries are refused. */
  endAsUnknown(): void {
    if (this.close()) this.owner.ended(this.terms, { kind: 'unknown' });
  }

  /**
   * Ends the claim of a request that was carried out.
   * @param isBodyWhole whether `digestBody` received the complete request body. If not, the response is not stored,
   * because retries cannot be compared with the request.
   * @param response response for retries. If undefined, retries get `idempotency_not_stored`.
   * @param done called once with whether the response is stored. The caller sends the last byte after this call.
   */
  end(
    status: number,
    isBodyWhole: boolean,
    response: StoredResponse | undefined,
    done?: (isStored: boolean) => void,
  ): void {
    if (!this.close()) {
      done?.(false);
      return;
    }
    const kept = isBodyWhole ? response : undefined;
    const bodyHash = isBodyWhole ? this.body.digest('base64url') : '';
    this.owner.ended(this.terms, { kind: 'done', status, bodyHash, response: kept }, done);
  }

  /** Marks the claim as ended. Returns false if the claim had already ended. */
  private close(): boolean {
    const { isOpen } = this;
    this.isOpen = false;
    return isOpen;
  }
}

/** Replay holds the result of an earlier request. The gateway sends the response only to a retry with the same body. */
export class Replay {
  readonly isReplay = true;

  constructor(
    /** SHA-256 of the body of the first request, base64url. */
    readonly bodyHash: string,
    /**
     * Reads the stored response. Resolves to undefined if the record has expired. Rejects with a `Problem` if the store
     * fails.
     */
    readonly read: () => Promise<StoredResponse | undefined>,
  ) {}
}

/** Keyed is the result for a request with an `Idempotency-Key` that the gateway accepts. */
export type Keyed = KeyClaim | Replay;

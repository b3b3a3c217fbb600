/** Results for a request with an `Idempotency-Key`: a claim of its record, or a stored response. */
import { createHash } from 'node:crypto';
import type { ClaimTerms, KeptResponse, Outcome } from './record.js';

/** ClaimOwner receives the outcomes of claims and writes them to the store. */
export interface ClaimOwner {
  /** Called when the request was not carried out. */
  released(terms: ClaimTerms): void;
  /**
   * Called when the request has an outcome.
   * @param done called once, within a short time. `isStored` tells whether the response is stored.
   */
  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void;
}

/**
 * KeyClaim is the claim of the first request with its key. The holder must call `release`, `lose` or `end`. Only the
 * first of these calls counts. Until then, the lease is extended.
 */
export class KeyClaim {
  readonly isReplay = false;
  /** Whether the claim has not ended yet. */
  isOpen = true;
  /** Whether a backend call is responsible for the claim and will end it. */
  isTaken = false;
  private readonly body = createHash('sha256');

  constructor(
    readonly terms: ClaimTerms,
    private readonly owner: ClaimOwner,
  ) {}

  /** Adds a piece of the request body to the digest. */
  takeBody(piece: Buffer): void {
    this.body.update(piece);
  }

  /** Releases the claim unless a backend call is responsible for it. */
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
   * @param isBodyWhole whether `takeBody` received the complete request body. If not, retries cannot be compared with
   * it, and the response is not stored.
   * @param response response for retries. If undefined, retries get `idempotency_not_stored`.
   * @param done called before the client receives the last byte. Its argument tells whether the response is stored.
   */
  end(
    status: number,
    isBodyWhole: boolean,
    response: KeptResponse | undefined,
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

  /** Marks the claim as ended. Returns false if it had ended before. */
  private close(): boolean {
    const { isOpen } = this;
    this.isOpen = false;
    return isOpen;
  }
}

/** Replay is the result of an earlier request. The gateway sends it only if the retry has the same body. */
export class Replay {
  readonly isReplay = true;

  constructor(
    /** SHA-256 of the body of the first request, base64url. */
    readonly bodyHash: string,
    /** Reads the stored response. Undefined if it has expired. Rejects with a `Problem` if the store fails. */
    readonly read: () => Promise<KeptResponse | undefined>,
  ) {}
}

/** Keyed is the result for a request with an `Idempotency-Key` that is not refused. */
export type Keyed = KeyClaim | Replay;

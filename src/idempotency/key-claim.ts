/** Handles to the record of a request with an `Idempotency-Key`: a claim, or a stored response. */
import { createHash } from 'node:crypto';
import type { ClaimTerms, KeptResponse, Outcome } from './record.js';

/** ClaimOwner receives the outcomes of claims. */
export interface ClaimOwner {
  released(terms: ClaimTerms): void;
  /** @param done called once, within a short time, with whether the response is stored. */
  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void;
}

/**
 * KeyClaim is the claim of the first request with its key. Its holder must call `release`, `lose` or `end`, of which
 * only the first call counts. Until then the lease is extended.
 */
export class KeyClaim {
  readonly isReplay = false;
  /** Whether the claim has not ended. */
  isOpen = true;
  /** Whether a backend call holds the claim and will end it. */
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

  /** Releases the claim unless a backend call holds it. */
  releaseUntaken(): void {
    if (!this.isTaken) this.release();
  }

  /** Ends the claim of a request that was not carried out and can be sent again. */
  release(): void {
    if (this.close()) this.owner.released(this.terms);
  }

  /** Ends the claim of a request that may have been carried out. Retries are refused. */
  lose(): void {
    if (this.close()) this.owner.ended(this.terms, { kind: 'unknown' });
  }

  /**
   * Ends the claim of a request that was carried out.
   * @param isBodyWhole whether `takeBody` received the complete body. If not, retries cannot be compared to it, and the
   *   response is not stored.
   * @param response answers retries. If undefined, retries get `idempotency_not_stored`.
   * @param done called with whether the response is stored, before the client has the last byte.
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

  private close(): boolean {
    const { isOpen } = this;
    this.isOpen = false;
    return isOpen;
  }
}

/** Replay is the result of an earlier request. It answers a retry only if the body is the same. */
export class Replay {
  readonly isReplay = true;

  constructor(
    /** SHA-256 of the body of the first request, base64url. */
    readonly bodyHash: string,
    /** Reads the stored response; undefined if it has expired. Rejects with a `Problem` if the store fails. */
    readonly read: () => Promise<KeptResponse | undefined>,
  ) {}
}

/** Keyed is the result of an `Idempotency-Key` for which the request is not refused. */
export type Keyed = KeyClaim | Replay;

/** What a request with an `Idempotency-Key` has of its record: the claim that it carries out, or what is told again. */
import { createHash } from 'node:crypto';
import type { ClaimTerms, KeptResponse, Outcome } from './record.js';

/** Who is told what came of claims. */
export interface ClaimOwner {
  released(terms: ClaimTerms): void;
  /** @param done told once, and soon: whether the response stands in the store. */
  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void;
}

/**
 * KeyClaim is the claim of a request that is the first with its key. Whoever has it ends it, once, in one of three
 * ways; until then its lease is extended.
 */
export class KeyClaim {
  readonly isReplay = false;
  /** Whether nothing has come of it yet. */
  isOpen = true;
  /** Whether a call has it, and ends it. */
  isTaken = false;
  private readonly body = createHash('sha256');

  constructor(
    readonly terms: ClaimTerms,
    private readonly owner: ClaimOwner,
  ) {}

  /** Takes in a piece of the request's body, on its way to the backend. */
  takeBody(piece: Buffer): void {
    this.body.update(piece);
  }

  /** The same as `release`, unless a call has it. */
  releaseUntaken(): void {
    if (!this.isTaken) this.release();
  }

  /** The request was not carried out: it may be sent again. */
  release(): void {
    if (this.close()) this.owner.released(this.terms);
  }

  /** Nobody knows whether it was carried out: it is not carried out again. */
  lose(): void {
    if (this.close()) this.owner.ended(this.terms, { kind: 'unknown' });
  }

  /**
   * The request was carried out.
   * @param isBodyWhole whether all of its body has been taken in; else no retry can be held to it.
   * @param response what a retry is told; undefined: it is told that there is nothing to tell.
   * @param done told whether a retry will be told the response, before the client has the last byte of it.
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

/** Replay is what a request gets that was carried out before, once it is seen to have the same body. */
export class Replay {
  readonly isReplay = true;

  constructor(
    /** SHA-256 of the body that the first request had, base64url. */
    readonly bodyHash: string,
    /** Reads the response; undefined: it is kept no longer. Rejects with a `Problem` where it cannot be read. */
    readonly read: () => Promise<KeptResponse | undefined>,
  ) {}
}

/** Keyed is what the key of a request has led to. */
export type Keyed = KeyClaim | Replay;

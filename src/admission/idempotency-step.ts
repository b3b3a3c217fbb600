/**
 * Step 4 of 5: idempotency keys. Detects repeated requests. Applies to POST and PATCH requests with an
 * `Idempotency-Key`, if the operation supports these keys. Runs before the quota step, so that repeated requests use no
 * quota. Refuses requests with these status codes:
 * - 400 if the key is malformed.
 * - 409 if the first request is in progress, its outcome is unknown, or its response was not stored.
 * - 422 if the key was used with a different request.
 * - 429 if the API key has sent too many repeated requests.
 * - 503 if the store is unavailable, or if too many claims are open.
 */
import { fingerprintOf, recordName } from '../idempotency/fingerprint.js';
import type { Keyed } from '../idempotency/key-claim.js';
import { keyOf } from '../idempotency/key-field.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { METRICS } from '../platform/metrics.js';
import { valueOrLater, type ResultReceiver } from '../platform/callbacks.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { QuotaReport } from './quota-report.js';
import type { Step } from './step.js';

/**
 * Methods for which `Idempotency-Key` has an effect. PUT and DELETE are idempotent by definition (RFC 9110 section
 * 9.2.2).
 */
const METHODS_WITH_KEY: ReadonlySet<string | undefined> = new Set(['POST', 'PATCH']);

interface IdempotencyParts {
  /** Store of the records. Undefined in a process that does not forward requests, which never runs the step. */
  readonly keyedRequests: KeyedRequests | undefined;
  readonly quotaReport: QuotaReport;
}

/**
 * IdempotencyStep claims the record of a request, or finds the stored response of an earlier request. The step always
 * waits for the store.
 */
export class IdempotencyStep implements Step<Keyed | Problem> {
  private readonly requests: KeyedRequests | undefined;
  private readonly report: QuotaReport;

  constructor({ keyedRequests, quotaReport }: IdempotencyParts) {
    this.requests = keyedRequests;
    this.report = quotaReport;
  }

  check(request: AdmissionRequest, waiting: ResultReceiver<Keyed | Problem>): boolean | undefined {
    const { idempotencyField, operation, method } = request;
    if (idempotencyField === undefined || !METHODS_WITH_KEY.has(method)) return true;
    if (operation?.idempotency === undefined) return operation !== undefined;
    valueOrLater(this.claim(request, idempotencyField, operation.idempotency.retentionMs), waiting);
    return undefined;
  }

  conclude(request: AdmissionRequest, keyed: Keyed | Problem): boolean {
    if (keyed instanceof Problem) {
      request.refusal = keyed;
      return false;
    }
    request.keyed = keyed;
    return true;
  }

  /** Returns undefined, because a preview has no `Idempotency-Key`. */
  preview(): undefined {
    return undefined;
  }

  private async claim(request: AdmissionRequest, field: string, retentionMs: number): Promise<Keyed | Problem> {
    const keyed = await this.claimRecord(request, field, retentionMs);
    // Replays and refusals must report the remaining quota, too.
    if (keyed instanceof Problem || keyed.isReplay) await this.report.repeatTo(request);
    return keyed;
  }

  private async claimRecord(request: AdmissionRequest, field: string, retentionMs: number): Promise<Keyed | Problem> {
    const { method = '', url, contentType, rawHeaders, key } = request;
    // Both are set unless the steps run in the wrong order.
    if (this.requests === undefined || key === undefined) return new Problem('internal_error');
    const idempotencyKey = keyOf(field, rawHeaders);
    if (idempotencyKey instanceof Problem) {
      METRICS.idempotentRequests.series('invalid').inc();
      return idempotencyKey;
    }
    const { accountId, keyId } = key.record;
    const name = recordName(keyId, idempotencyKey);
    return this.requests.claim(accountId, name, fingerprintOf(method, url, contentType), retentionMs);
  }
}

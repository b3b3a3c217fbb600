/**
 * Step 4 of 5: idempotency keys. Detects repeated requests. Applies only to POST and PATCH with an `Idempotency-Key`.
 * Runs before the quota step, so that repetitions use no quota. Refuses with these codes:
 * - 400 if the key is malformed.
 * - 409 if the first request is in progress, its outcome is unknown, or its response was not stored.
 * - 422 if the key was used with a different request.
 * - 429 if there are too many repetitions.
 * - 503 if the store is unavailable.
 */
import { fingerprintOf, recordName } from '../idempotency/fingerprint.js';
import type { Keyed } from '../idempotency/key-claim.js';
import { keyOf } from '../idempotency/key-field.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { METRICS } from '../platform/metrics.js';
import { valueOrLater, type Waiting } from '../platform/waiting.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { QuotaReport } from './quota-report.js';
import type { Step } from './step.js';

/** Methods for which the header has an effect. PUT and DELETE are idempotent by definition. */
const METHODS_WITH_KEY: ReadonlySet<string | undefined> = new Set(['POST', 'PATCH']);

interface IdempotencyParts {
  /** Undefined in a process that does not forward requests. Such a process never runs the step. */
  readonly keyedRequests: KeyedRequests | undefined;
  readonly quotaReport: QuotaReport;
}

/** IdempotencyStep claims the record of a request. The step always waits if there is a key to claim. */
export class IdempotencyStep implements Step<Keyed | Problem> {
  private readonly requests: KeyedRequests | undefined;
  private readonly report: QuotaReport;

  constructor({ keyedRequests, quotaReport }: IdempotencyParts) {
    this.requests = keyedRequests;
    this.report = quotaReport;
  }

  check(request: AdmissionRequest, waiting: Waiting<Keyed | Problem>): boolean | undefined {
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
    // Responses without a backend call also report the remaining quota.
    if (keyed instanceof Problem || keyed.isReplay) await this.report.repeatTo(request);
    return keyed;
  }

  private async claimRecord(request: AdmissionRequest, field: string, retentionMs: number): Promise<Keyed | Problem> {
    const { method = '', url, contentType, rawHeaders, key } = request;
    // This happens only if the steps run in the wrong order.
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

/**
 * Step 4 of 5, for a POST or PATCH with an `Idempotency-Key` alone: whether it was sent before. Behind what the key may
 * do, and before the quota, so that a repetition costs nothing. Refuses with 400 what is no key, 409 what is under way
 * or of which nobody knows what came, 422 another request under the same key, 429 repetitions without end, and 503
 * while nobody can tell.
 */
import { fingerprintOf, recordName } from '../idempotency/fingerprint.js';
import type { Keyed } from '../idempotency/key-claim.js';
import { keyOf } from '../idempotency/key-field.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { METRICS } from '../platform/metrics.js';
import { nowOrTold, type Waiting } from '../platform/waiting.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { QuotaReport } from './quota-report.js';
import type { Step } from './step.js';

/** Whether a method takes a key: of the others those that change something are idempotent by themselves. */
const TAKES_KEY: ReadonlySet<string | undefined> = new Set(['POST', 'PATCH']);

/** IdempotencyParts are what the step stands on. */
interface IdempotencyParts {
  /** Undefined in a process that forwards nothing, where nobody asks the step. */
  readonly keyedRequests: KeyedRequests | undefined;
  readonly quotaReport: QuotaReport;
}

/** IdempotencyStep claims the record of a request. It says later. */
export class IdempotencyStep implements Step<Keyed | Problem> {
  private readonly requests: KeyedRequests | undefined;
  private readonly report: QuotaReport;

  constructor({ keyedRequests, quotaReport }: IdempotencyParts) {
    this.requests = keyedRequests;
    this.report = quotaReport;
  }

  ask(request: AdmissionRequest, waiting: Waiting<Keyed | Problem>): boolean | undefined {
    const { idempotencyField, operation, method } = request;
    if (idempotencyField === undefined || !TAKES_KEY.has(method)) return true;
    if (operation?.idempotency === undefined) return operation !== undefined;
    nowOrTold(this.claim(request, idempotencyField, operation.idempotency.retentionMs), waiting);
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

  /** A request that is not made has no key: it would be the first with any. */
  preview(): undefined {
    return undefined;
  }

  private async claim(request: AdmissionRequest, field: string, retentionMs: number): Promise<Keyed | Problem> {
    const keyed = await this.claimed(request, field, retentionMs);
    // Whoever is not carried out learns what is left all the same.
    if (keyed instanceof Problem || keyed.isReplay) await this.report.repeatTo(request);
    return keyed;
  }

  private async claimed(request: AdmissionRequest, field: string, retentionMs: number): Promise<Keyed | Problem> {
    const { method = '', url, contentType, rawHeaders, key } = request;
    // Without these the step stands in the wrong place.
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

/** The request as the admission steps read it, with fields for their results. */
import type { Operation } from '../config/model/schema.js';
import type { ClientResponse } from '../http/client/client-response.js';
import type { Keyed } from '../idempotency/key-claim.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { CountedRequest } from '../quota/model/usage-cell.js';
import type { ENDING_PHASES } from '../platform/metrics.js';
import type { Problem } from '../platform/problems/errors.js';
import type { TokenAuthenticator } from '../keys/clients/token-authenticator.js';
import type { RoutedRequest } from './routes.js';
import type { RouteMatch } from '../proxy/routing/operation-table.js';

/** EndingPhase is the deprecation phase of the requested operation, and a metric label. */
export type EndingPhase = (typeof ENDING_PHASES)[number];

/** AdmissionRequest is a request that passes through the steps. It is the same for every protocol. */
export interface AdmissionRequest extends CountedRequest, RoutedRequest {
  readonly method: string | undefined;
  /** Path and query, as received. */
  readonly url: string;
  readonly clientAddress: string;
  /** The first `Authorization` header. */
  readonly authorization: string | undefined;
  /**
   * Alternating names and values, to detect repeated headers. Empty if the parser has already rejected repeated
   * headers.
   */
  readonly rawHeaders: readonly string[];
  /** The `Idempotency-Key` header as received. Repeated headers are joined. */
  readonly idempotencyField: string | undefined;
  readonly contentType: string | undefined;
  /** Set for endpoints that accept access tokens instead of API keys. */
  readonly tokenAuthenticator?: TokenAuthenticator | undefined;
  /** Notified when the key is accepted, even if a later step refuses the request. */
  readonly response: Pick<ClientResponse, 'noteAdmitted'>;
  /** Whether `clientAddress` is that of a proxy missing from `trustedProxies`. See `isUnknownProxy`. */
  readonly isFromUnknownProxy: boolean;

  /** The matched route, if it is already known. */
  readonly match: RouteMatch | undefined;
  operation: Operation | undefined;
  key: CachedKey | undefined;
  subject: QuotaSubject | undefined;
  /** Claim or replay of the `Idempotency-Key`. Undefined without one. */
  keyed: Keyed | undefined;
  decision: QuotaDecision | undefined;
  /**
   * Error with which a step refuses the request. Not thrown, because throwing is slow and 429 responses can be
   * frequent.
   */
  refusal: Problem | undefined;
  /** Deprecation phase of the operation, for the metric of its callers. Empty if the operation is not deprecated. */
  ending: EndingPhase | '';
  // Header lines for the response, each with its CRLF.
  /** Deprecation and sunset dates. */
  endingLines: string;
  /** Remaining quota. */
  quotaLines: string;
}

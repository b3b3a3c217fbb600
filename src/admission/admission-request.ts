/**
 * Defines the request that the admission steps read and write. Every protocol (HTTP, MCP) provides its own
 * implementation.
 */
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

/**
 * AdmissionRequest is a request on its way through the admission steps. The steps store their results in its fields.
 */
export interface AdmissionRequest extends CountedRequest, RoutedRequest {
  readonly method: string | undefined;
  /** Path and query of the request target, as received. */
  readonly url: string;
  readonly clientAddress: string;
  /** Value of the first `Authorization` header. Undefined if there is none. */
  readonly authorization: string | undefined;
  /**
   * Header names and values in turn. The key step uses them to detect repeated headers. Empty if the parser has already
   * rejected repeated headers.
   */
  readonly rawHeaders: readonly string[];
  /**
   * Value of the `Idempotency-Key` header, as received. Values of repeated headers are joined with commas. Undefined
   * without the header.
   */
  readonly idempotencyField: string | undefined;
  readonly contentType: string | undefined;
  /** Authenticator of an endpoint that accepts access tokens. Undefined for requests that need an API key. */
  readonly tokenAuthenticator?: TokenAuthenticator | undefined;
  /**
   * Response to the client. The key step notifies it when the key is accepted, even if a later step refuses the
   * request.
   */
  readonly response: Pick<ClientResponse, 'noteAdmitted'>;
  /** Whether `clientAddress` is the address of a proxy that is missing from `trustedProxies`. See `isUnknownProxy`. */
  readonly isFromUnknownProxy: boolean;

  /** Result of routing, if the caller has already matched the path. Otherwise, the route step matches the path. */
  readonly match: RouteMatch | undefined;
  operation: Operation | undefined;
  key: CachedKey | undefined;
  subject: QuotaSubject | undefined;
  /**
   * Claim or replay for the `Idempotency-Key`. Undefined if the request has no key, or the operation does not support
   * keys.
   */
  keyed: Keyed | undefined;
  decision: QuotaDecision | undefined;
  /**
   * Error with which a step refused the request. Steps set this field instead of throwing, because throwing is slow and
   * 429 responses can be frequent.
   */
  refusal: Problem | undefined;
  /**
   * Deprecation phase of the operation, for the metric of calls to deprecated operations. Empty before the deprecation
   * date, or if the operation has no dates.
   */
  ending: EndingPhase | '';
  // Header lines for the response. Each line ends with CRLF.
  /** `Deprecation` and `Sunset` headers, with their links. */
  endingLines: string;
  /** Headers with the remaining quota. */
  quotaLines: string;
}

/** What the steps of the request path look at of a request, and where they put what they found. */
import type { Operation } from '../config/model/schema.js';
import type { ClientResponse } from '../http/client/client-response.js';
import type { Keyed } from '../idempotency/key-claim.js';
import type { CachedKey } from '../keys/cached-key.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { CountedRequest } from '../quota/model/usage-cell.js';
import type { ENDING_PHASES } from '../platform/metrics.js';
import type { Problem } from '../platform/problems/errors.js';
import type { TokenDoor } from '../keys/clients/token-door.js';
import type { RouteMatch } from '../proxy/routing/operation-table.js';

/** EndingPhase says how far the end of what was asked for has come; a value of a metric. */
export type EndingPhase = (typeof ENDING_PHASES)[number];

/** AdmissionRequest is a request on its way through the steps, whatever it came in by. */
export interface AdmissionRequest extends CountedRequest {
  readonly method: string | undefined;
  /** Path and query, as received. */
  readonly url: string;
  /** The path without the query. */
  readonly path: string;
  readonly clientAddress: string;
  /** The first `Authorization` of the request. */
  readonly authorization: string | undefined;
  /** Name, value, name, value: to see whether there are several; empty where whoever read it has seen to that. */
  readonly rawHeaders: readonly string[];
  /** The `Idempotency-Key`, as received; several are joined. */
  readonly idempotencyField: string | undefined;
  readonly contentType: string | undefined;
  /** Where access tokens are taken in the place of keys; undefined: keys are, as nearly everywhere. */
  readonly tokenDoor?: TokenDoor | undefined;
  /** Hears that the key has been accepted, whatever the later steps say. */
  readonly response: Pick<ClientResponse, 'noteAdmitted'>;
  /** Whether the address is that of a proxy of ours that nobody has named to us. */
  readonly isFromUnknownProxy: boolean;

  /** What the path leads to, where somebody has looked already. */
  readonly match: RouteMatch | undefined;
  operation: Operation | undefined;
  key: CachedKey | undefined;
  subject: QuotaSubject | undefined;
  /** What its `Idempotency-Key` has led to; undefined without one. */
  keyed: Keyed | undefined;
  decision: QuotaDecision | undefined;
  /** Why a step said no, where it did not throw: a 429 comes by the thousand, and throwing is not free. */
  refusal: Problem | undefined;
  /** What of its end was met: then it is counted who still asks. */
  ending: EndingPhase | '';
  // Field lines of every response to it, each with its CRLF.
  /** The dates of an end. */
  endingLines: string;
  /** What is left. */
  quotaLines: string;
}

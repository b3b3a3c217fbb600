/**
 * Step 2 of 5: authentication. Refuses requests with these status codes:
 * - 429 if the client address has sent too many invalid keys. The step then does not read the key.
 * - 400 if there are several `Authorization` headers, or a key in the URL in addition to the header.
 * - 401 if the key is missing, unknown, revoked or expired.
 * - 403 if the key is paused or not allowed from this address, or if the account is suspended.
 * - 503 if the key cannot be looked up.
 */
import { DeniedKey, type Authenticator } from '../keys/authenticator.js';
import { bearerSecret, keyInUrl } from '../keys/bearer.js';
import { isFailedAttempt, type FailedAttempts } from '../keys/failed-attempts.js';
import type { CachedKey } from '../keys/cached-key.js';
import { valueOrLater, type ResultReceiver } from '../platform/callbacks.js';
import { Problem } from '../platform/problems/errors.js';
import type { UsageRecorder } from '../quota/usage/usage-recorder.js';
import type { AdmissionRequest } from './admission-request.js';
import type { PreviewedRequest } from './previewed-request.js';
import type { Step } from './step.js';

interface KeyParts {
  readonly authenticator: Authenticator;
  readonly failedAttempts: FailedAttempts;
  readonly recorder: UsageRecorder;
}

/**
 * KeyStep authenticates a request, and stores the key and its quota subject in the request. The step waits only if the
 * database must be read.
 */
export class KeyStep implements Step<CachedKey | Problem> {
  private readonly authenticator: Authenticator;
  private readonly failedAttempts: FailedAttempts;
  private readonly recorder: UsageRecorder;

  constructor({ authenticator, failedAttempts, recorder }: KeyParts) {
    this.authenticator = authenticator;
    this.failedAttempts = failedAttempts;
    this.recorder = recorder;
  }

  check(request: AdmissionRequest, waiting: ResultReceiver<CachedKey | Problem>): boolean | undefined {
    const { clientAddress } = request;
    const throttleProblem = this.failedAttempts.problemFor(clientAddress);
    if (throttleProblem !== undefined) {
      request.refusal = throttleProblem;
      return false;
    }
    let secret = bearerSecret(request.authorization, request.rawHeaders, request.url);
    if (typeof secret !== 'string') {
      // Some endpoints accept access tokens instead of keys (`authorization/mcp-token-authenticator.ts`). A malformed
      // header is an error for these endpoints, too.
      if (secret.code !== 'malformed_authorization')
        secret = request.tokenAuthenticator?.readToken(request.authorization) ?? secret;
      if (typeof secret !== 'string') return this.refuse(request, secret);
    }
    const verdict = valueOrLater(this.authenticator.authenticate(secret, clientAddress), waiting);
    return verdict === undefined ? undefined : this.conclude(request, verdict);
  }

  conclude(request: AdmissionRequest, verdict: CachedKey | Problem): boolean {
    if (verdict instanceof Problem) return this.refuse(request, verdict);
    request.key = verdict;
    request.subject = verdict.subject;
    request.response.noteAdmitted?.();
    return true;
  }

  preview({ key, url, clientAddress, builtIn }: PreviewedRequest): Problem | undefined {
    if (builtIn === 'public') return undefined;
    const throttleProblem = clientAddress === undefined ? undefined : this.failedAttempts.previewProblem(clientAddress);
    return throttleProblem ?? keyInUrl(url) ?? this.authenticator.previewProblem(key, clientAddress);
  }

  private refuse(request: AdmissionRequest, problem: Problem): false {
    const { clientAddress, operation } = request;
    request.refusal = request.tokenAuthenticator?.toTokenProblem(problem) ?? problem;
    if (isFailedAttempt(problem.code)) this.failedAttempts.recordAttempt(clientAddress, request.isFromUnknownProxy);
    // Count the refusal in the usage of the key.
    else if (problem instanceof DeniedKey && problem.key.subject !== undefined && operation !== undefined) {
      this.recorder.recordDenied(problem.key.subject, operation);
    }
    return false;
  }
}

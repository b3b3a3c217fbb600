/**
 * Makes requests that create a resource safe to retry, by an `Idempotency-Key` for operations with status 201. Only
 * successful requests are stored, so a rejected request can be retried with the same key. Responds with 409 while the
 * first request runs or if its response contained a secret, and with 422 to a different request.
 */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, of, type Observable } from 'rxjs';
import { ChangeClaims } from '../../idempotency/change-claims.js';
import type { ClaimTerms, StoredResponse } from '../../idempotency/record.js';
import { inProgress } from '../../idempotency/refusals.js';
import { Problem } from '../../platform/problems/errors.js';
import { RefusedBody } from '../../platform/problems/refused-body.js';
import { actorOf, principalOf } from '../access/principal.js';
import { DOCUMENTED, type OperationDescription } from '../openapi/operation-decorator.js';
import { withETag } from './etag.js';
import { fingerprintOf, idempotencyKeyOf, setClaim } from './idempotency.js';

const MISMATCH =
  'This Idempotency-Key was used for a request with another method, path, query or body. Use a ' +
  'new key for each new request.';
const REPLAYED = 'Idempotent-Replayed';

@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly claims: ChangeClaims) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const field = request.headers['idempotency-key'];
    if (field === undefined || !createsResource(context) || request.body instanceof RefusedBody) return next.handle();
    const principal = principalOf(request);
    if (principal.kind === 'nobody') return next.handle();
    const key = idempotencyKeyOf(String(field), request.raw.rawHeaders);
    const { claim, claimed } = await this.claims.claim(actorOf(principal), key, fingerprintOf(request));
    if (claimed.state === 'mismatch') throw new Problem('idempotency_mismatch', { detail: MISMATCH });
    if (claimed.state === 'claimed') {
      setClaim(request, claim);
      return from(this.runHandler(claim, next));
    }
    const response = claimed.state === 'done' ? await this.claims.read(claim.name) : undefined;
    if (response === undefined) throw inProgress();
    return of(replay(response, http.getResponse<FastifyReply>()));
  }

  /** Runs the handler, and releases the key if the request has changed nothing. */
  private async runHandler(claim: ClaimTerms, next: CallHandler): Promise<unknown> {
    try {
      return await lastValueFrom(next.handle());
    } finally {
      // Does nothing if the change was committed. If the release fails, the claim expires later.
      await this.claims.release(claim).catch(() => undefined);
    }
  }
}

function createsResource(context: ExecutionContext): boolean {
  const description = Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription | undefined;
  return description?.status === 201;
}

/**
 * Returns the stored response of the first request.
 * @throws Problem `idempotency_secret_shown` if that response contained a secret, which is not stored
 */
function replay({ code, lines, body }: StoredResponse, reply: FastifyReply): unknown {
  const location = /^Location: (.*)\r\n/.exec(lines)?.[1] ?? null;
  if (code !== '') {
    throw new Problem('idempotency_secret_shown', {
      detail:
        'This request has succeeded before. Its response contained a secret, which is not stored. If ' +
        `you lost the secret, ${adviceFor(location)}.`,
      headers: [REPLAYED, 'true', ...(location === null ? [] : ['Location', location])],
    });
  }
  reply.header(REPLAYED, 'true');
  if (location !== null) reply.header('Location', location);
  const resource = JSON.parse(body.toString()) as { readonly version?: number };
  return resource.version === undefined ? resource : withETag({ ...resource, version: resource.version }, reply);
}

/**
 * Returns advice for a client that lost the response with a secret, as the end of a sentence.
 * @param location path of the resource with the secret, or of its list. Null if the resource has no path.
 */
function adviceFor(location: string | null): string {
  if (location === null) return 'repeat the request with a new key';
  if (location.endsWith('/invitations')) return 'resend the invitation; it is in the list that `Location` names';
  if (location.startsWith('/admin/v1/members/'))
    return 'create another password link for the member that `Location` names';
  if (location.endsWith('/tokens')) return 'revoke the token in the list that `Location` names, and create another';
  return 'rotate the resource that `Location` names, or revoke it and create another';
}

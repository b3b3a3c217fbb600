/**
 * Makes creating requests safe to retry: every POST with status 201 accepts an `Idempotency-Key`. Only successful
 * requests are stored, so a rejected one can be retried with the same key.
 */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, of, type Observable } from 'rxjs';
import { ChangeClaims } from '../../idempotency/change-claims.js';
import type { ClaimTerms, KeptResponse } from '../../idempotency/record.js';
import { inProgress } from '../../idempotency/refusals.js';
import { Problem } from '../../platform/problems/errors.js';
import { RefusedBody } from '../../platform/problems/refused-body.js';
import { actorOf, principalOf } from '../access/principal.js';
import { DOCUMENTED, type OperationDescription } from '../openapi/operation-decorator.js';
import { tagged } from './etag.js';
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
    if (field === undefined || !makesSomething(context) || request.body instanceof RefusedBody) return next.handle();
    const principal = principalOf(request);
    if (principal.kind === 'nobody') return next.handle();
    const key = idempotencyKeyOf(String(field), request.raw.rawHeaders);
    const { claim, claimed } = await this.claims.claim(actorOf(principal), key, fingerprintOf(request));
    if (claimed.state === 'mismatch') throw new Problem('idempotency_mismatch', { detail: MISMATCH });
    if (claimed.state === 'claimed') {
      setClaim(request, claim);
      return from(this.carryOut(claim, next));
    }
    const response = claimed.state === 'done' ? await this.claims.read(claim.name) : undefined;
    if (response === undefined) throw inProgress();
    return of(replay(response, http.getResponse<FastifyReply>()));
  }

  private async carryOut(claim: ClaimTerms, next: CallHandler): Promise<unknown> {
    try {
      return await lastValueFrom(next.handle());
    } finally {
      // A completed change keeps its stored outcome. If the release fails, the claim expires.
      await this.claims.release(claim).catch(() => undefined);
    }
  }
}

function makesSomething(context: ExecutionContext): boolean {
  const description = Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription | undefined;
  return description?.status === 201;
}

function replay({ code, lines, body }: KeptResponse, reply: FastifyReply): unknown {
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
  return resource.version === undefined ? resource : tagged({ ...resource, version: resource.version }, reply);
}

/** Explains how to replace a secret whose response was lost. @param location path of the resource with the secret. */
function adviceFor(location: string | null): string {
  if (location === null) return 'repeat the request with a new key';
  if (location.endsWith('/invitations')) return 'resend the invitation; it is in the list that `Location` names';
  if (location.startsWith('/admin/v1/members/'))
    return 'create another password link for the member that `Location` names';
  if (location.endsWith('/tokens')) return 'revoke the token in the list that `Location` names, and create another';
  return 'rotate the resource that `Location` names, or revoke it and create another';
}

/**
 * Lets a request that makes something be sent again without making it twice: every POST that is answered with 201 takes
 * an `Idempotency-Key`. Only what was done is kept; what was refused may be tried again.
 */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, of, type Observable } from 'rxjs';
import { IdempotentRequests, type Claim, type KeptResponse } from '../../idempotency/idempotent-requests.js';
import { Problem } from '../../platform/problems/errors.js';
import { RefusedBody } from '../../platform/problems/refused-body.js';
import { actorOf, principalOf } from '../access/principal.js';
import { DOCUMENTED, type OperationDescription } from '../openapi/documented.js';
import { tagged } from './etag.js';
import { fingerprintOf, idempotencyKeyOf, setClaim } from './idempotency.js';

const REPLAYED = 'Idempotent-Replayed';

@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly requests: IdempotentRequests) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const field = request.headers['idempotency-key'];
    if (field === undefined || !makesSomething(context) || request.body instanceof RefusedBody) return next.handle();
    const principal = principalOf(request);
    if (principal.kind === 'nobody') return next.handle();
    const key = idempotencyKeyOf(String(field));
    const claimed = await this.requests.claim(actorOf(principal), key, fingerprintOf(request));
    switch (claimed.state) {
      case 'mismatch':
        throw new Problem('idempotency_mismatch', {
          detail: 'This Idempotency-Key was sent with another request before. Take a new key for each new request.',
        });
      case 'under_way':
        throw new Problem('idempotency_in_progress', {
          detail: 'The request with this Idempotency-Key is still under way. Send it again to hear what came of it.',
          headers: ['Retry-After', '1'],
        });
      case 'done':
        return of(replay(claimed.response, http.getResponse<FastifyReply>()));
      case 'claimed':
        setClaim(request, claimed.claim);
        return from(this.carryOut(claimed.claim, next));
    }
  }

  private async carryOut(claim: Claim, next: CallHandler): Promise<unknown> {
    try {
      return await lastValueFrom(next.handle());
    } finally {
      // What was done has been written down, and stays. Else a claim ends by itself.
      await this.requests.release(claim).catch(() => undefined);
    }
  }
}

function makesSomething(context: ExecutionContext): boolean {
  const description = Reflect.getMetadata(DOCUMENTED, context.getHandler()) as OperationDescription | undefined;
  return description?.status === 201;
}

function replay({ location, body }: KeptResponse, reply: FastifyReply): unknown {
  if (body === null) {
    throw new Problem('idempotency_secret_shown', {
      detail:
        'This was done before, and its response held a secret, which is kept nowhere. Where the secret was lost, ' +
        `${adviceFor(location)}.`,
      headers: [REPLAYED, 'true', ...(location === null ? [] : ['Location', location])],
    });
  }
  reply.header(REPLAYED, 'true');
  if (location !== null) reply.header('Location', location);
  const resource = JSON.parse(body) as { readonly version?: number };
  return resource.version === undefined ? resource : tagged({ ...resource, version: resource.version }, reply);
}

/** How one gets another secret in the place of one that was lost, by where what has it is read. */
function adviceFor(location: string | null): string {
  if (location === null) return 'ask for another with a new key';
  if (location.endsWith('/invitations')) return 'send the invitation again: it is in the list that `Location` names';
  if (location.startsWith('/admin/v1/members/')) return 'make another link for the password of whom `Location` names';
  if (location.endsWith('/tokens')) return 'revoke the token in the list that `Location` names, and make another';
  return 'rotate what `Location` names, or revoke it and make another';
}

/**
 * Signs the operator in: 401 without the token or with a wrong one, 400 for a malformed header (RFC 6750), 429 for an
 * address that keeps trying. Every route of the application needs it unless its controller says `@Public()`.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { normalizeIp, ThrottlerStorage } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../problems/errors.js';

const PUBLIC = 'trailgate:public';
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const CHALLENGE = 'Bearer realm="trailgate-admin"';

/** A person mistypes a token a few times; a program tries thousands. */
const FAILED_ATTEMPTS = { limit: 10, windowMs: 60_000 } as const;

/** Injection token of the operators' token. */
export const OPERATOR_TOKEN = Symbol('OperatorToken');

/** Opens a controller to everybody who reaches the port: health and metrics. */
export const Public = (): ClassDecorator => SetMetadata(PUBLIC, true);

export function isPublic(context: ExecutionContext): boolean {
  return Reflect.getMetadata(PUBLIC, context.getClass()) === true;
}

@Injectable()
export class OperatorTokenGuard implements CanActivate {
  private readonly expected: Buffer;

  constructor(
    @Inject(OPERATOR_TOKEN) token: string,
    @Inject(ThrottlerStorage) private readonly storage: ThrottlerStorage,
  ) {
    this.expected = digest(token);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (isPublic(context)) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const refusal = this.refusalOf(request.headers.authorization);
    if (refusal === undefined) return true;
    // The right token is never locked out: it cannot be guessed, and its owner may share the address of whoever tries.
    await this.countFailure(request.ip);
    throw refusal;
  }

  private refusalOf(header: string | undefined): Problem | undefined {
    if (header === undefined || !/^Bearer(?: |$)/i.test(header)) {
      return new Problem('missing_credentials', {
        detail: 'Send the operator token: Authorization: Bearer $TRAILGATE_ADMIN_TOKEN.',
        headers: ['WWW-Authenticate', CHALLENGE],
      });
    }
    const token = BEARER.exec(header)?.[1];
    if (token === undefined) {
      return new Problem('malformed_authorization', {
        detail: 'The header must be: Authorization: Bearer, one space, one token.',
        headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_request"`],
      });
    }
    // Digests have one length, so that neither length nor content of the token shows in the time.
    if (timingSafeEqual(digest(token), this.expected)) return undefined;
    const description = 'error_description="The operator token is not valid"';
    return new Problem('invalid_credentials', {
      detail: 'This is not the operator token of this installation.',
      headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token", ${description}`],
    });
  }

  private async countFailure(ip: string): Promise<void> {
    const { limit, windowMs } = FAILED_ATTEMPTS;
    const key = `admin-failed:${normalizeIp(ip)}`;
    const attempts = await this.storage.increment(key, windowMs, limit, windowMs, 'admin-failed');
    if (!attempts.isBlocked) return;
    const seconds = String(Math.max(1, Math.ceil(attempts.timeToBlockExpire)));
    throw new Problem('too_many_failed_attempts', {
      detail: `Too many wrong tokens from this address. Wait ${seconds} seconds.`,
      headers: ['Retry-After', seconds],
    });
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

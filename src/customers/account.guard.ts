/**
 * Reads the account ID of the caller from the header `X-Account-Id`, which the gateway sets. Requests without a valid
 * account ID get 401 `missing_account`.
 */
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { createParamDecorator, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RequestError } from './errors.js';

const ACCOUNT_ID = /^[\w.:-]{1,128}$/;

/** AccountGuard rejects requests without a valid account ID. */
@Injectable()
export class AccountGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    accountOf(context.switchToHttp().getRequest<FastifyRequest>());
    return true;
  }
}

/**
 * AccountId passes the account ID to a parameter of a controller method. `AccountGuard` has already validated the ID.
 */
export const AccountId = createParamDecorator((_: unknown, context: ExecutionContext): string =>
  accountOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

function accountOf(request: FastifyRequest): string {
  const value = request.headers['x-account-id'];
  if (typeof value === 'string' && ACCOUNT_ID.test(value)) return value;
  throw new RequestError(
    'missing_account',
    'The request does not say for which account it is: send one X-Account-Id header.',
  );
}

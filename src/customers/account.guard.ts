/** Reads the caller's account from the header that the gateway sets. Refuses with 401 if it is missing or invalid. */
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { createParamDecorator, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RequestError } from './errors.js';

const ACCOUNT_ID = /^[\w.:-]{1,128}$/;

@Injectable()
export class AccountGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    accountOf(context.switchToHttp().getRequest<FastifyRequest>());
    return true;
  }
}

/** Returns the account that `AccountGuard` validated. */
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

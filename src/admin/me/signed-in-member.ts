/** Defines the decorator `@Myself`, for handlers of the signed-in member's own resources. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { SessionMember } from '../../members/sessions.js';
import { principalOf } from '../access/principal.js';

/**
 * Injects the signed-in member. Throws an `Error` for other callers, so use `@Myself` only in operations for members.
 */
export const Myself = createParamDecorator((_: unknown, context: ExecutionContext): SessionMember => {
  const principal = principalOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (principal.kind !== 'member') throw new Error('only members have this');
  return principal.member;
});

/** The member who is signed in, for handlers that are about nobody else. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { SessionMember } from '../../members/sessions.js';
import { principalOf } from '../access/principal.js';

/** The parameter of such a handler; the table of operations lets members alone come so far. */
export const Myself = createParamDecorator((_: unknown, context: ExecutionContext): SessionMember => {
  const principal = principalOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (principal.kind !== 'member') throw new Error('only members have this');
  return principal.member;
});

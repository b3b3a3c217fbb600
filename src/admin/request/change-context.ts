/** Who asks for a change, for the audit log. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ChangeContext } from '../../accounts/audit-log.js';

/** The parameter of a handler that changes something. Until there are members, everybody signed in is the operator. */
export const ChangedBy = createParamDecorator((_: unknown, context: ExecutionContext): ChangeContext => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return { actor: 'operator', ip: request.ip, requestId: request.id };
});

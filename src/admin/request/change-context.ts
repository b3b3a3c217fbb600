/** Who asks for a change, for the audit log. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ChangeContext } from '../../accounts/audit-log.js';
import { actorOf, principalOf } from '../access/principal.js';

/** The parameter of a handler that changes something. */
export const ChangedBy = createParamDecorator((_: unknown, context: ExecutionContext): ChangeContext =>
  changeContextOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Who asks, and from where. */
export function changeContextOf(request: FastifyRequest): ChangeContext {
  return { actor: actorOf(principalOf(request)), ip: request.ip, requestId: request.id };
}

/** Creates the context of a change from its request, for authorization, the audit log and idempotency. */
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ChangeContext } from '../../records/audit-log.js';
import { authorizerOf } from '../access/change-authorizer.js';
import { actorOf, labelOf, principalOf } from '../access/principal.js';
import { responseRecordOf } from './idempotency.js';

/** Injects the context of a change into a handler parameter. */
export const ChangedBy = createParamDecorator((_: unknown, context: ExecutionContext): ChangeContext =>
  changeContextOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

/** Returns the actor, address, request ID and authorizer of a request, and the writer that stores its response. */
export function changeContextOf(request: FastifyRequest): ChangeContext {
  const principal = principalOf(request);
  return {
    actor: actorOf(principal),
    actorLabel: labelOf(principal),
    ip: request.ip,
    requestId: request.id,
    authorize: authorizerOf(request),
    response: responseRecordOf(request),
  };
}

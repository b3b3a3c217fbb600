/**
 * Step 1 of 4: which operation is asked for. Refuses with 404, 405 + `Allow`, 400 for a path that can be read in two ways, 410
 * after a sunset and in a brown-out.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Problem } from '../errors.js';
import { withoutSecrets } from '../keys/api-key-format.js';
import type { RouteMatch } from '../proxy/operation-table.js';
import type { Exchange, GatewayRequest } from './exchange.js';
import { LifeCycle } from './life-cycle.js';
import { Routes } from './routes.js';

@Injectable()
export class RouteGuard implements CanActivate {
  constructor(
    private readonly routes: Routes,
    private readonly lifeCycle: LifeCycle,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const match = this.routes.match(exchange);
    if (match.kind !== 'operation') throw routeProblem(match, exchange);
    exchange.operation = match.operation;
    this.lifeCycle.apply(exchange, match.operation);
    return true;
  }
}

/** Why a request has no operation. */
export function routeProblem(match: Exclude<RouteMatch, { kind: 'operation' }>, exchange: Exchange): Problem {
  switch (match.kind) {
    case 'method_not_allowed':
      return new Problem('method_not_allowed', {
        detail: `This path supports ${match.allow}.`,
        headers: ['Allow', match.allow],
      });
    case 'invalid_path':
      return new Problem('invalid_path', {
        detail:
          'Write the path without empty, "." or ".." segments, and without encoded slashes, backslashes or semicolons.',
      });
    case 'not_found':
      return new Problem('route_not_found', {
        detail: `There is nothing at ${withoutSecrets(exchange.path).slice(0, 200)}.`,
      });
  }
}

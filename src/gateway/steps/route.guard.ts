/**
 * Step 1 of 4: which operation is asked for. Refuses with 404, 405 + `Allow`, 400 for a path that can be read in two ways, 410
 * after a sunset and in a brown-out.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { routeProblem } from '../../proxy/routing/route-problem.js';
import type { GatewayRequest } from '../request/exchange.js';
import { LifeCycle } from './life-cycle.js';
import { Routes } from '../request/routes.js';

@Injectable()
export class RouteGuard implements CanActivate {
  constructor(
    private readonly routes: Routes,
    private readonly lifeCycle: LifeCycle,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const match = exchange.match ?? this.routes.match(exchange);
    if (match.kind === 'operation') {
      exchange.operation = match.operation;
      exchange.refusal = this.lifeCycle.apply(exchange, match.operation);
    } else {
      exchange.refusal = routeProblem(match, exchange.path);
    }
    return exchange.refusal === undefined;
  }
}

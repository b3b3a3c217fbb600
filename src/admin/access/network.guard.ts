/**
 * Responds with 404 to requests for operator routes from addresses outside `admin.operatorNetworks`. NetworkGuard runs
 * before the other guards, so credentials make no difference.
 */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../../platform/problems/errors.js';
import { AdminNetworks } from '../listener/admin-networks.js';
import { operationOf } from '../openapi/operation-decorator.js';
import { isPublic } from './public.js';

@Injectable()
export class NetworkGuard implements CanActivate {
  constructor(private readonly networks: AdminNetworks) {}

  canActivate(context: ExecutionContext): boolean {
    if (isPublic(context) || operationOf(context).permission.about !== 'installation') return true;
    if (this.networks.mayOperate(context.switchToHttp().getRequest<FastifyRequest>().ip)) return true;
    throw new Problem('route_not_found', { detail: 'This path does not exist.' });
  }
}

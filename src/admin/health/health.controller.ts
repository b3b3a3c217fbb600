/** For orchestrators and Prometheus: needs no token, is never throttled, and exists in every role. */
import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { METRICS_CONTENT_TYPE } from '../../platform/metrics-text.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies, type Readiness } from '../request/admin-dependencies.js';
import { Public } from '../access/public.js';

interface ReadinessBody {
  readonly status: 'ready' | 'not_ready';
  readonly checks: Readiness['checks'];
}

@Controller()
@Public()
export class HealthController {
  constructor(@Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies) {}

  /** The process runs and answers; nothing that it depends on is asked, or an outage would restart it for nothing. */
  @Get('livez')
  live(): { status: string } {
    return { status: 'alive' };
  }

  /** Whether traffic should come here: 503 while starting, draining, or without something that is indispensable. */
  @Get('readyz')
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessBody {
    const { ready, checks } = this.deps.readiness();
    reply.status(ready ? 200 : 503);
    return { status: ready ? 'ready' : 'not_ready', checks };
  }

  @Get('metrics')
  @Header('Content-Type', METRICS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.deps.metricsText();
  }
}

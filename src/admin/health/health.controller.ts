/**
 * Serves probes and metrics for orchestrators and Prometheus. They need no token, have no limit, and exist in every
 * role.
 */
import { Controller, Get, Headers, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { writeMetrics } from '../../platform/collect-metrics.js';
import { ADMIN_DEPENDENCIES, type AdminDependencies, type Readiness } from '../request/admin-dependencies.js';
import { Public } from '../access/public.js';
import { expositionFor } from './scrape-format.js';

interface ReadinessBody {
  readonly status: 'ready' | 'not_ready';
  readonly checks: Readiness['checks'];
}

@Controller()
@Public()
export class HealthController {
  constructor(@Inject(ADMIN_DEPENDENCIES) private readonly deps: AdminDependencies) {}

  /** Responds while the process runs. It checks no dependencies, because an outage must not restart the process. */
  @Get('livez')
  live(): { status: string } {
    return { status: 'alive' };
  }

  /**
   * Reports whether the process should receive traffic. 503 while starting, draining, or without a required dependency.
   */
  @Get('readyz')
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessBody {
    const { ready, checks } = this.deps.readiness();
    reply.status(ready ? 200 : 503);
    return { status: ready ? 'ready' : 'not_ready', checks };
  }

  /** Responds in the format that the scraper prefers. */
  @Get('metrics')
  async metrics(
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer> {
    const exposition = expositionFor(accept);
    reply.headers({ 'content-type': exposition.contentType, vary: 'accept' });
    return writeMetrics(await this.deps.metrics(), exposition);
  }
}

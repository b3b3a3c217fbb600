/**
 * Serves probes and metrics for orchestrators and Prometheus, in processes of every role. Requests need no token and
 * have no rate limit. On the admin listener, addresses outside `admin.healthNetworks` get 404.
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

  /**
   * Responds with 200 while the process runs. Checks no dependencies, because the outage of a dependency must not
   * restart the process.
   */
  @Get('livez')
  live(): { status: string } {
    return { status: 'alive' };
  }

  /**
   * Reports whether the process should receive traffic. Responds with 503 while the process starts or drains, or while
   * a required dependency is unavailable.
   */
  @Get('readyz')
  ready(@Res({ passthrough: true }) reply: FastifyReply): ReadinessBody {
    const { ready, checks } = this.deps.readiness();
    reply.status(ready ? 200 : 503);
    return { status: ready ? 'ready' : 'not_ready', checks };
  }

  /** Responds with the metrics in the format that the scraper's `Accept` header prefers. */
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

/** Defines the Nest module of the gateway, with the controllers for the request path and the usage endpoint. */
import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Config } from '../../config/model/schema.js';
import type { Authenticator } from '../../keys/authenticator.js';
import type { FailedAttempts } from '../../keys/failed-attempts.js';
import type { Clock } from '../../platform/clock.js';
import type { Forwarder } from '../../proxy/calls/forwarder.js';
import type { ProxyStatus } from '../../proxy/calls/proxy-status.js';
import { Limiter } from '../../quota/limiter.js';
import type { RequestLogRecorder } from '../../request-logs/recorder.js';
import type { UsageRecorder } from '../../quota/usage/usage-recorder.js';
import { UsageReader } from '../../quota/usage-reader.js';
import { Backend } from '../steps/backend.js';
import type { Connections } from './connections.js';
import type { EntranceRules } from '../request/entrance-rules.js';
import type { Cors } from '../request/cors.js';
import type { RequestLines } from '../request/request-lines.js';
import type { Tracer } from '../request/tracing.js';
import { STEPS_TOKEN } from '../steps/step-guards.js';
import type { MountEndpoint } from '../../admission/mounted/mounted-endpoint.js';
import type { Steps } from '../../admission/steps.js';
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import type { Draining } from './draining.js';
import { GatewayController } from '../steps/gateway.controller.js';
import { QuotaReport } from '../../admission/quota-report.js';
import type { Routes } from '../../admission/routes.js';
import { createUsageController } from '../steps/usage.controller.js';

/** GatewayDependencies holds the parts that the gateway needs from the rest of the program. */
export interface GatewayDependencies {
  readonly config: Config;
  readonly clock: Clock;
  readonly routes: Routes;
  readonly steps: Steps;
  readonly cors: Cors;
  readonly entranceRules: EntranceRules;
  /** Provides the URLs for the `type` of problems. */
  readonly errorPages: ErrorPages;
  readonly authenticator: Authenticator;
  readonly failedAttempts: FailedAttempts;
  readonly quotas: Limiter;
  readonly quotaReport: QuotaReport;
  readonly recorder: UsageRecorder;
  readonly requestLogs: RequestLogRecorder;
  readonly requestLines: RequestLines;
  /** Exports the traces of requests. Undefined without `tracing`. */
  readonly tracer?: Tracer | undefined;
  readonly usage: UsageReader;
  readonly forwarder: Forwarder;
  readonly proxyStatus: ProxyStatus;
  readonly draining: Draining;
  readonly connections: Connections;
  /** Creates another service on the listener, such as the MCP server. Undefined if there is none. */
  readonly mountEndpoint?: MountEndpoint;
}

/** GatewayParts holds the objects that the fast path (`fast-path.ts`) and Nest's router share. */
export interface GatewayParts {
  readonly steps: Steps;
  readonly backend: Backend;
}

@Module({})
class DomainModule {}

@Module({})
export class GatewayModule {
  /** @param more modules of other services on the listener */
  static forRoot(deps: GatewayDependencies, parts: GatewayParts, more: readonly DynamicModule[]): DynamicModule {
    return {
      module: GatewayModule,
      imports: [
        domainModule(deps, parts),
        // `QuotaGuard` uses the windows of the plans, so the library gets no limits of its own.
        ThrottlerModule.forRoot({ throttlers: [], storage: deps.quotas }),
        ...more,
      ],
      controllers: [createUsageController(deps.routes.basePaths), GatewayController],
    };
  }
}

function domainModule(deps: GatewayDependencies, { steps, backend }: GatewayParts): DynamicModule {
  const providers: Provider[] = [
    { provide: STEPS_TOKEN, useValue: steps },
    { provide: Backend, useValue: backend },
    { provide: Limiter, useValue: deps.quotas },
    { provide: QuotaReport, useValue: deps.quotaReport },
    { provide: UsageReader, useValue: deps.usage },
  ];
  return { module: DomainModule, global: true, providers, exports: providers };
}

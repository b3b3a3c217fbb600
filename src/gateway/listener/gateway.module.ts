/** The gateway's parts: the request path, and the usage of whoever asks. What they stand on is handed in. */
import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Config } from '../../config/model/schema.js';
import { Authenticator } from '../../keys/authenticator.js';
import { FailedAttempts } from '../../keys/failed-attempts.js';
import { Forwarder } from '../../proxy/calls/forwarder.js';
import { ProxyStatus } from '../../proxy/calls/proxy-status.js';
import { QuotaStorage } from '../../limits/quota-storage.js';
import { UsageRecorder } from '../../usage/usage-recorder.js';
import { UsageReader } from '../../limits/usage.js';
import { Backend } from '../steps/backend.js';
import type { Connections } from './connections.js';
import { Cors } from '../request/cors.js';
import type { Draining } from './draining.js';
import { ErrorFilter } from '../request/error.filter.js';
import { GatewayController } from '../steps/gateway.controller.js';
import { LifeCycle } from '../steps/life-cycle.js';
import { QuotaReport } from '../steps/quota-report.js';
import { Routes } from '../request/routes.js';
import { UsageController } from '../steps/usage.controller.js';

/** What the gateway stands on. */
export interface GatewayDependencies {
  readonly config: Config;
  readonly routes: Routes;
  readonly cors: Cors;
  readonly lifeCycle: LifeCycle;
  readonly authenticator: Authenticator;
  readonly failedAttempts: FailedAttempts;
  readonly quotas: QuotaStorage;
  readonly recorder: UsageRecorder;
  readonly usage: UsageReader;
  readonly forwarder: Forwarder;
  readonly proxyStatus: ProxyStatus;
  readonly draining: Draining;
  readonly connections: Connections;
}

@Module({})
class DomainModule {}

@Module({ controllers: [UsageController] })
class UsageModule {}

@Module({})
export class GatewayModule {
  /** @param more modules of other planes that answer on the same listener. */
  static forRoot(deps: GatewayDependencies, filter: ErrorFilter, more: readonly DynamicModule[]): DynamicModule {
    return {
      module: GatewayModule,
      imports: [
        domainModule(deps, filter),
        // The guard takes its windows from the plans; the list that the library asks for stays empty.
        ThrottlerModule.forRoot({ throttlers: [], storage: deps.quotas }),
        UsageModule,
        RouterModule.register([{ path: deps.config.file.api.basePath, module: UsageModule }]),
        ...more,
      ],
      controllers: [GatewayController],
      providers: [Backend],
    };
  }
}

function domainModule(deps: GatewayDependencies, filter: ErrorFilter): DynamicModule {
  const providers: Provider[] = [
    { provide: Routes, useValue: deps.routes },
    { provide: Cors, useValue: deps.cors },
    { provide: LifeCycle, useValue: deps.lifeCycle },
    { provide: Authenticator, useValue: deps.authenticator },
    { provide: FailedAttempts, useValue: deps.failedAttempts },
    { provide: QuotaStorage, useValue: deps.quotas },
    { provide: UsageRecorder, useValue: deps.recorder },
    { provide: UsageReader, useValue: deps.usage },
    { provide: Forwarder, useValue: deps.forwarder },
    { provide: ProxyStatus, useValue: deps.proxyStatus },
    { provide: ErrorFilter, useValue: filter },
    QuotaReport,
  ];
  return { module: DomainModule, global: true, providers, exports: providers };
}

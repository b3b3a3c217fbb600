/**
 * The steps of the request path, opened once: for whoever serves requests in this process, and for whoever explains
 * them.
 */
import { LifeCycle } from '../admission/life-cycle.js';
import { QuotaReport } from '../admission/quota-report.js';
import { Routes } from '../admission/routes.js';
import { openSteps, type StepParts, type Steps } from '../admission/steps.js';
import { publicUrlOf } from '../config/load.js';
import type { GatewayFile } from '../config/model/schema.js';
import type { RunningConfig } from '../config/running-config.js';
import { FailedAttempts } from '../keys/failed-attempts.js';
import { systemClock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import { ErrorPages } from '../platform/problems/error-pages.js';
import type { Domain } from './open-domain.js';

/**
 * PublicUrl is the origin of the API, which is not known before a port is bound where the configuration leaves it open.
 */
export class PublicUrl {
  /** Where the errors' pages are, under this origin. */
  readonly errorPages: ErrorPages;
  private boundPort: number;
  /** What the file says, with this port: asked for with every message of an assistant. */
  private known: { readonly file: GatewayFile; readonly url: string } | undefined;

  constructor(private readonly config: RunningConfig) {
    this.boundPort = config.current.file.gateway.port;
    this.errorPages = new ErrorPages(this.get());
    config.onChange(
      ({ config: { file } }) =>
        () =>
          this.errorPages.moveTo(publicUrlOf(file, this.boundPort)),
    );
  }

  get(): string {
    const { file } = this.config.current;
    if (this.known?.file !== file) this.known = { file, url: publicUrlOf(file, this.boundPort) };
    return this.known.url;
  }

  /** Takes the port on which the gateway listens. */
  bind(port: number): void {
    this.boundPort = port;
    this.known = undefined;
    this.errorPages.moveTo(this.get());
  }
}

/** Admission is the steps and what they stand on. */
export interface Admission extends StepParts {
  readonly steps: Steps;
  readonly publicUrl: PublicUrl;
}

/** Opens the steps; they follow the configuration. */
export function openAdmission({ config, keys, quotas, keyedRequests }: Domain, log: Log): Admission {
  const { file } = config.current;
  const publicUrl = new PublicUrl(config);
  const routes = new Routes(config.current);
  const lifeCycle = new LifeCycle(config.current, () => publicUrl.get(), systemClock);
  const failedAttempts = new FailedAttempts(file.gateway.failedAuthentication.perMinute, systemClock, log.logger);
  config.onChange(async ({ config: changed }) => {
    const useRoutes = await routes.prepare(changed);
    return () => {
      useRoutes();
      lifeCycle.use(changed);
      failedAttempts.use(changed.file.gateway.failedAuthentication.perMinute);
    };
  });
  const parts: StepParts = {
    routes,
    lifeCycle,
    authenticator: keys.authenticator,
    failedAttempts,
    quotas: quotas.limiter,
    quotaReport: new QuotaReport(quotas.limiter, systemClock),
    recorder: quotas.recorder,
    keyedRequests,
  };
  return { ...parts, steps: openSteps(parts), publicUrl };
}

/**
 * Creates the admission steps and the public URL. The gateway runs the steps for requests, and `explain` previews them.
 */
import { LifeCycle } from './life-cycle.js';
import { QuotaReport } from './quota-report.js';
import { Routes } from './routes.js';
import { openSteps, type StepParts, type Steps } from './steps.js';
import { publicUrlOf } from '../config/load.js';
import type { GatewayFile } from '../config/model/schema.js';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { RunningConfig } from '../config/running-config.js';
import { FailedAttempts } from '../keys/failed-attempts.js';
import { ErrorPages } from '../platform/problems/error-pages.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import type { Keys } from '../keys/open.js';
import type { Quotas } from '../quota/open-quotas.js';

/**
 * PublicUrl provides the origin of the API, such as `https://api.example.com`. If the configuration does not set an
 * origin, it is derived from the port on which the gateway listens.
 */
export class PublicUrl {
  /** URLs of the error pages. They follow changes of the origin. */
  readonly errorPages: ErrorPages;
  private boundPort: number;
  /** Result of `get`, cached because `get` runs for every MCP message. */
  private cached: { readonly file: GatewayFile; readonly url: string } | undefined;

  constructor(private readonly config: RunningConfig) {
    this.boundPort = config.current.file.gateway.port;
    this.errorPages = new ErrorPages(this.get());
    config.onChange(
      ({ config: { file } }) =>
        () =>
          this.errorPages.moveTo(publicUrlOf(file, this.boundPort)),
    );
  }

  /** Returns the origin for the current configuration. */
  get(): string {
    const { file } = this.config.current;
    if (this.cached?.file !== file) this.cached = { file, url: publicUrlOf(file, this.boundPort) };
    return this.cached.url;
  }

  /** Sets the port on which the gateway actually listens. */
  setPort(port: number): void {
    this.boundPort = port;
    this.cached = undefined;
    this.errorPages.moveTo(this.get());
  }
}

/** Admission holds the steps, their dependencies, and the public URL. */
export interface Admission extends StepParts {
  readonly steps: Steps;
  readonly publicUrl: PublicUrl;
}

/** AdmissionDependencies are the parts from other folders of `src/` that the steps need. */
export interface AdmissionDependencies {
  readonly keys: Keys;
  readonly quotas: Quotas;
  readonly keyedRequests: KeyedRequests | undefined;
}

/**
 * Creates the steps. Updates routes, deprecation dates and the limit of failed attempts when the configuration changes.
 */
export function openAdmission(
  { config, clock, log }: Pick<SharedDependencies, 'config' | 'clock' | 'log'>,
  { keys, quotas, keyedRequests }: AdmissionDependencies,
): Admission {
  const { file } = config.current;
  const publicUrl = new PublicUrl(config);
  const routes = new Routes(config.current);
  const lifeCycle = new LifeCycle(config.current, () => publicUrl.get(), clock);
  const failedAttempts = new FailedAttempts(file.gateway.failedAuthentication.perMinute, clock, log.logger);
  config.onChange(async ({ config: changed }) => {
    const useRoutes = await routes.prepare(changed);
    return () => {
      useRoutes();
      lifeCycle.applyConfig(changed);
      failedAttempts.setLimit(changed.file.gateway.failedAuthentication.perMinute);
    };
  });
  const parts: StepParts = {
    routes,
    lifeCycle,
    authenticator: keys.authenticator,
    failedAttempts,
    quotas: quotas.limiter,
    quotaReport: new QuotaReport(quotas.limiter, clock),
    recorder: quotas.recorder,
    keyedRequests,
  };
  return { ...parts, steps: openSteps(parts), publicUrl };
}

/** Deprecation and sunset of operations: sets response headers and refuses requests. See `retirement.ts`. */
import type { Clock } from '../platform/clock.js';
import { apisOf, originOf } from '../config/model/apis.js';
import type { Config, Operation } from '../config/model/schema.js';
import type { Problem } from '../platform/problems/errors.js';
import { retirementOf, retirementProblem, type Retirement } from '../proxy/routing/retirement.js';
import type { AdmissionRequest } from './admission-request.js';

export class LifeCycle {
  /** Deprecation and sunset dates by operation index. Undefined for operations without dates. */
  private retirements: (Retirement | undefined)[] = [];

  /** @param publicUrl returns the origin of the API. Called when the first response needs it. */
  constructor(
    config: Pick<Config, 'file' | 'operations'>,
    private readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {
    this.applyConfig(config);
  }

  /** Replaces the operations and dates. */
  applyConfig({ file, operations }: Pick<Config, 'file' | 'operations'>): void {
    const retirements: (Retirement | undefined)[] = [];
    const apis = new Map(apisOf(file).map((api) => [api.name, api]));
    for (const operation of operations) {
      const api = apis.get(operation.api);
      const origin = () => originOf(file, operation.api, this.publicUrl());
      if (api !== undefined) retirements[operation.index] = retirementOf(operation, api, origin);
    }
    this.retirements = retirements;
  }

  /** Returns the error for requests to an operation after its sunset or during a brownout. Otherwise undefined. */
  problemFor(operation: Operation): Problem | undefined {
    const retirement = this.retirements[operation.index];
    return retirement === undefined ? undefined : retirementProblem(retirement, this.clock.now());
  }

  /**
   * Sets the header lines and the phase of a request.
   * @returns the error after the sunset or during a brownout, see `retirementProblem`. The error response has the same
   *   headers.
   */
  apply(request: Pick<AdmissionRequest, 'endingLines' | 'ending'>, operation: Operation): Problem | undefined {
    const retirement = this.retirements[operation.index];
    if (retirement === undefined) return undefined;
    const nowMs = this.clock.now();
    request.endingLines = retirement.lines;
    const problem = retirementProblem(retirement, nowMs);
    if (problem !== undefined) request.ending = problem.code === 'operation_sunset' ? 'sunset' : 'brownout';
    else if (nowMs >= retirement.deprecatedFromMs) request.ending = 'deprecated';
    return problem;
  }
}

/**
 * Applies the deprecation and sunset dates of operations. Sets response headers, and refuses requests after a sunset
 * and during brownouts. For the dates, see `retirement.ts`.
 */
import type { Clock } from '../platform/clock.js';
import { apisOf, originOf } from '../config/model/apis.js';
import type { Config, Operation } from '../config/model/schema.js';
import type { Problem } from '../platform/problems/errors.js';
import { retirementOf, retirementProblem, type Retirement } from '../proxy/routing/retirement.js';
import type { AdmissionRequest } from './admission-request.js';

export class LifeCycle {
  /** Deprecation and sunset dates by operation index. Undefined for operations without dates. */
  private retirements: (Retirement | undefined)[] = [];

  /**
   * @param publicUrl returns the origin of the API. Called when the first response with dates is written, because the
   *   origin can depend on the bound port.
   */
  constructor(
    config: Pick<Config, 'file' | 'operations'>,
    private readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {
    this.applyConfig(config);
  }

  /** Replaces the operations and their dates with those of a new configuration. */
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

  /**
   * Returns the error for requests to an operation that is past its sunset or in a brownout. Otherwise returns
   * undefined.
   */
  problemFor(operation: Operation): Problem | undefined {
    const retirement = this.retirements[operation.index];
    return retirement === undefined ? undefined : retirementProblem(retirement, this.clock.now());
  }

  /**
   * Sets the header lines and the deprecation phase of a request.
   * @returns the error if the operation is past its sunset or in a brownout, see `retirementProblem`. Otherwise
   *   undefined. The error response has the same header lines.
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

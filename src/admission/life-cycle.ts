/** Deprecation and sunset of operations: response headers and refusals. See `ending.ts`. */
import type { Clock } from '../platform/clock.js';
import type { Config, Operation } from '../config/model/schema.js';
import type { Problem } from '../platform/problems/errors.js';
import { endingOf, endProblem, type Ending } from '../proxy/routing/ending.js';
import type { AdmissionRequest } from './admission-request.js';

export class LifeCycle {
  /** Endings by operation index. Undefined for operations without dates. */
  private endings: (Ending | undefined)[] = [];

  /** @param publicUrl returns the origin of the API. Called when the first response needs it. */
  constructor(
    config: Pick<Config, 'file' | 'operations'>,
    private readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {
    this.use(config);
  }

  /** Replaces the operations and dates. */
  use({ file, operations }: Pick<Config, 'file' | 'operations'>): void {
    const endings: (Ending | undefined)[] = [];
    for (const operation of operations) endings[operation.index] = endingOf(operation, file.api, this.publicUrl);
    this.endings = endings;
  }

  /** Returns the error for requests to the operation, or undefined while it is available. */
  endOf(operation: Operation): Problem | undefined {
    const ending = this.endings[operation.index];
    return ending === undefined ? undefined : endProblem(ending, this.clock.now());
  }

  /**
   * Sets the header lines and the phase of a request.
   * @returns the error if the operation has ended, which has the same headers. See `endProblem`.
   */
  apply(request: Pick<AdmissionRequest, 'endingLines' | 'ending'>, operation: Operation): Problem | undefined {
    const ending = this.endings[operation.index];
    if (ending === undefined) return undefined;
    const nowMs = this.clock.now();
    request.endingLines = ending.lines;
    const problem = endProblem(ending, nowMs);
    if (problem !== undefined) request.ending = problem.code === 'operation_sunset' ? 'sunset' : 'brownout';
    else if (nowMs >= ending.deprecatedFromMs) request.ending = 'deprecated';
    return problem;
  }
}

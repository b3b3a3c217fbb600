/** What a version and its operations tell their callers about their end, and the end itself; see `ending.ts`. */
import type { Clock } from '../platform/clock.js';
import type { Config, Operation } from '../config/model/schema.js';
import type { Problem } from '../platform/problems/errors.js';
import { endingOf, endProblem, type Ending } from '../proxy/routing/ending.js';
import type { AdmissionRequest } from './admission-request.js';

export class LifeCycle {
  /** By the operation's index; nothing for those without dates, which pay one look into this array. */
  private endings: (Ending | undefined)[] = [];

  /** @param publicUrl origin of the API; asked when the first response needs it. */
  constructor(
    config: Pick<Config, 'file' | 'operations'>,
    private readonly publicUrl: () => string,
    private readonly clock: Clock,
  ) {
    this.use(config);
  }

  /** Goes by this configuration from now on. */
  use({ file, operations }: Pick<Config, 'file' | 'operations'>): void {
    const endings: (Ending | undefined)[] = [];
    for (const operation of operations) endings[operation.index] = endingOf(operation, file.api, this.publicUrl);
    this.endings = endings;
  }

  /** What a request for the operation is refused with now. */
  endOf(operation: Operation): Problem | undefined {
    const ending = this.endings[operation.index];
    return ending === undefined ? undefined : endProblem(ending, this.clock.now());
  }

  /**
   * Adds the fields to the response. @returns what the request is refused with, see
   * `endProblem`; it carries the fields.
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

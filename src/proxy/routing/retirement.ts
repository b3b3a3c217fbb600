/**
 * Announces the deprecation and retirement of operations, in the fields `Deprecation` (RFC 9745), `Sunset` (RFC 8594)
 * and `Link` to the successor (RFC 5829). Also provides the problems for retired operations and for brownouts. A
 * brownout is a planned temporary outage that announces the retirement.
 */
import type { LifeCycleDates, Operation } from '../../config/model/schema.js';
import { FixedProblem, type Problem } from '../../platform/problems/errors.js';
import { linesOf } from '../../http/grammar/fields.js';

const SUNSET = new FixedProblem('operation_sunset', {
  detail: 'This version or operation of the API has been retired.',
});

/**
 * Retirement contains the deprecation, retirement and brownouts of an operation. Times are in milliseconds since the
 * epoch.
 */
export interface Retirement {
  /** Field lines for every response, each with its CRLF. */
  readonly lines: string;
  /** Infinity if the operation is not deprecated. */
  readonly deprecatedFromMs: number;
  /** Infinity if no retirement is planned. */
  readonly sunsetMs: number;
  readonly brownouts: readonly Brownout[];
}

interface Brownout {
  readonly fromMs: number;
  readonly toMs: number;
  readonly problem: Problem;
}

/**
 * Returns the problem for a request at `nowMs`: `operation_sunset` after the retirement, `operation_brownout` during a
 * brownout. Returns undefined if the operation is available.
 */
export function retirementProblem({ sunsetMs, brownouts }: Retirement, nowMs: number): Problem | undefined {
  if (nowMs >= sunsetMs) return SUNSET;
  return brownouts.find(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs)?.problem;
}

function brownoutOf(fromMs: number, toMs: number, sunsetMs: number): Brownout {
  return { fromMs, toMs, problem: brownoutProblem(toMs, sunsetMs) };
}

function brownoutProblem(toMs: number, sunsetMs: number): Problem {
  const end = sunsetMs === Infinity ? 'soon' : `on ${new Date(sunsetMs).toISOString()}`;
  return new FixedProblem('operation_brownout', {
    detail:
      `This operation will be retired ${end}. Until ${new Date(toMs).toISOString()} it is unavailable, ` +
      'to announce its retirement.',
  });
}

/**
 * Combines the dates of an operation with those of its API version. The operation's deprecation and successor take
 * precedence. The earlier sunset and all brownouts apply. Returns undefined if neither has dates.
 * @param publicUrl returns the public base URL for links.
 */
export function retirementOf(
  operation: Operation,
  api: LifeCycleDates,
  publicUrl: () => string,
): Retirement | undefined {
  const own = operation.lifeCycle;
  const deprecation = own?.deprecation ?? api.deprecation;
  const sunset = earlier(own?.sunset ?? null, api.sunset);
  const brownouts = [...(own?.brownouts ?? []), ...api.brownouts];
  if (deprecation === null && sunset === null && brownouts.length === 0) return undefined;
  const dates = { deprecation, sunset, successor: own?.successor ?? api.successor, brownouts };
  const sunsetMs = sunset === null ? Infinity : Date.parse(sunset);
  let lines: string | undefined;
  return {
    get lines() {
      return (lines ??= linesOf(fieldsOf(dates, publicUrl())));
    },
    deprecatedFromMs: deprecation === null ? Infinity : Date.parse(deprecation),
    sunsetMs,
    brownouts: brownouts.map(({ from, to }) => brownoutOf(Date.parse(from), Date.parse(to), sunsetMs)),
  };
}

/** Returns the earlier of two dates; null if both are null. */
function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return Date.parse(a) <= Date.parse(b) ? a : b;
}

/**
 * Builds the header fields as alternating names and values. `Deprecation` is a structured-field Date, which can be in
 * the future (RFC 9745 section 2). `Sunset` is an HTTP-date (RFC 8594 section 3).
 */
function fieldsOf({ deprecation, sunset, successor }: LifeCycleDates, publicUrl: string): string[] {
  const policy = `<${publicUrl}/docs/versioning>`;
  const fields: string[] = [];
  if (deprecation !== null) {
    fields.push('Deprecation', `@${Math.floor(Date.parse(deprecation) / 1_000)}`);
    fields.push('Link', `${policy}; rel="deprecation"; type="text/html"`);
  }
  if (sunset !== null) {
    fields.push('Sunset', new Date(sunset).toUTCString(), 'Link', `${policy}; rel="sunset"; type="text/html"`);
  }
  if (successor !== undefined) {
    fields.push('Link', `<${successor.startsWith('/') ? publicUrl : ''}${successor}>; rel="successor-version"`);
  }
  return fields;
}

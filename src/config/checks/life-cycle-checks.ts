/**
 * Checks deprecation dates, sunset dates and brownouts for consistency, and against the support period on the policy
 * page.
 */
import { isObject } from '../openapi/openapi-traversal.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import type { GatewayFile } from '../model/schema.js';
import { valueAt } from './schema-problems.js';
import type { SourceDocument } from '../source/source-document.js';

const DEFAULT_SUPPORT_MONTHS = 12;

/**
 * Checks the life cycle settings of `api`, of `apis` and of each entry of `operations`.
 * @param value unvalidated `gateway.yaml`; it may have other problems
 */
export function lifeCycleProblems(source: SourceDocument, value: unknown): ConfigProblem[] {
  const list = valueAt(value, ['apis']);
  const apis = Array.isArray(list) ? list : [];
  const operations = valueAt(value, ['operations']);
  const entries = Array.isArray(operations) ? operations : [];
  return [
    ...problemsAt(source, ['api'], valueAt(value, ['api']), supportPeriod(value, ['api'])),
    ...apis.flatMap((api, at) => problemsAt(source, ['apis', at], api, supportPeriod(value, ['apis', at]))),
    ...entries.flatMap((entry, index) =>
      problemsAt(source, ['operations', index], entry, supportPeriod(value, apiPathOf(value, apis, entry))),
    ),
  ];
}

/** Minimum number of months between deprecation and sunset that an API promises. */
interface SupportPeriod {
  readonly months: number;
  /** Name of the setting, such as `apis.1.supportMonths`. */
  readonly setting: string;
}

function supportPeriod(file: unknown, path: DocumentPath): SupportPeriod {
  const months = valueAt(file, [...path, 'supportMonths']);
  return {
    months: typeof months === 'number' ? months : DEFAULT_SUPPORT_MONTHS,
    setting: [...path, 'supportMonths'].join('.'),
  };
}

/** Returns the path of the API that an `operations` entry or its service names. Falls back to the first API. */
function apiPathOf(file: unknown, apis: readonly unknown[], entry: unknown): DocumentPath {
  if (apis.length === 0) return ['api'];
  const service = valueAt(entry, ['service']);
  const ofService = typeof service === 'string' ? valueAt(file, ['services', service, 'api']) : undefined;
  const name = valueAt(entry, ['api']) ?? ofService;
  const index = apis.findIndex((api) => name !== undefined && valueAt(api, ['name']) === name);
  return ['apis', Math.max(0, index)];
}

/**
 * Warns about sunset dates in the past and about duplicate scopes.
 * @param nowMs milliseconds since the epoch
 */
export function operationWarnings(
  source: SourceDocument,
  { api, apis = [], operations }: Pick<GatewayFile, 'api' | 'apis' | 'operations'>,
  nowMs: number,
): ConfigProblem[] {
  const pastSunset = (path: DocumentPath, sunset: string | null | undefined, affected: string): ConfigProblem[] => {
    if (typeof sunset !== 'string' || Date.parse(sunset) > nowMs) return [];
    const message = `sunset (${sunset}) is in the past: ${affected} gets 410 \`operation_sunset\``;
    return [source.problem([...path, 'sunset'], message, 'choose a later date, or remove what has ended')];
  };
  return [
    ...pastSunset(['api'], api.sunset, 'every request'),
    ...apis.flatMap(({ name, sunset }, at) => pastSunset(['apis', at], sunset, `every request to \`${name}\``)),
    ...operations.flatMap(({ sunset, scopes = [] }, index) => [
      ...pastSunset(['operations', index], sunset, 'every request for it'),
      ...scopes.flatMap((scope, at) =>
        scopes.indexOf(scope) === at
          ? []
          : source.problem(
              ['operations', index, 'scopes', at],
              `\`${scope}\` is in the list twice`,
              'keep one of them',
            ),
      ),
    ]),
  ];
}

function problemsAt(
  source: SourceDocument,
  path: DocumentPath,
  value: unknown,
  period: SupportPeriod,
): ConfigProblem[] {
  if (!isObject(value)) return [];
  const { deprecation, sunset } = value;
  return [
    ...sunsetProblems(source, path, deprecation, sunset, period),
    ...brownoutProblems(source, path, value['brownouts'], deprecation),
  ];
}

/**
 * Checks that a sunset is not before the deprecation (RFC 8594 section 3, RFC 9745 section 4). Also checks that the
 * promised support period fits between both dates.
 */
function sunsetProblems(
  source: SourceDocument,
  path: DocumentPath,
  deprecation: unknown,
  sunset: unknown,
  { months, setting }: SupportPeriod,
): ConfigProblem[] {
  if (typeof sunset !== 'string' || typeof deprecation !== 'string') return [];
  const from = Date.parse(deprecation);
  const to = Date.parse(sunset);
  if (to < from) {
    const hint = 'integrators need the time between the two to move';
    return [source.problem([...path, 'sunset'], `sunset (${sunset}) is before deprecation (${deprecation})`, hint)];
  }
  if (!(to < monthsAfter(from, months))) return [];
  const message =
    `sunset (${sunset}) is less than the ${months} months after deprecation (${deprecation}) ` +
    'that /docs/versioning promises';
  const hint = `choose a later sunset, or set ${setting} to what you promise`;
  return [source.problem([...path, 'sunset'], message, hint)];
}

/**
 * Checks that each brownout ends after it begins, and does not begin before the deprecation date. A brownout requires a
 * deprecation date.
 */
function brownoutProblems(
  source: SourceDocument,
  path: DocumentPath,
  brownouts: unknown,
  deprecation: unknown,
): ConfigProblem[] {
  if (!Array.isArray(brownouts)) return [];
  return brownouts.flatMap((span: unknown, index) => {
    if (!isObject(span)) return [];
    const { from, to } = span;
    if (typeof from !== 'string' || typeof to !== 'string') return [];
    const at = [...path, 'brownouts', index];
    if (Date.parse(to) <= Date.parse(from)) {
      return [source.problem([...at, 'to'], `a brown-out ends after it begins (${from})`, 'choose a later end')];
    }
    if (typeof deprecation === 'string' && Date.parse(from) >= Date.parse(deprecation)) return [];
    const message = 'a brown-out comes after the deprecation';
    return [source.problem([...at, 'from'], message, 'set `deprecation` to an earlier date')];
  });
}

/** Adds calendar months in UTC. Times are milliseconds since the epoch. */
function monthsAfter(ms: number, months: number): number {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO('UTC').add({ months }).epochMilliseconds;
}

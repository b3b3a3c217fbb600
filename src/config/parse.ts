/**
 * Validates `gateway.yaml` against the schema, and converts the values of environment variables to the expected types.
 */
import type { z } from 'zod';
import { formatPath } from './model/problem.js';
import { planSchema } from './model/plan-schema.js';
import { serviceSchema } from './model/service-schema.js';
import { configSchema } from './model/schema.js';
import { valueAt } from './checks/schema-problems.js';
import { coerceText } from './source/substitute.js';

type Issue = z.core.$ZodIssue;

/** Schemas of the entries of `services` and `plans`, whose keys the operator chooses. */
const ENTRY_SCHEMAS: Readonly<Record<string, z.ZodType>> = { services: serviceSchema, plans: planSchema };

/**
 * Validates values. If a text from a variable is invalid, converts the text to a number or boolean and validates again.
 * The conversion modifies `value`.
 * @param substituted formatted paths of values from variables
 */
export function parse(
  value: unknown,
  substituted: ReadonlySet<string>,
): { readonly success: true; readonly data: z.output<typeof configSchema> } | { success: false; issues: Issue[] } {
  let result = configSchema.safeParse(value);
  if (!result.success && coerce(value, issuesOf(value, result.error), substituted)) {
    result = configSchema.safeParse(value);
  }
  return result.success ? result : { success: false, issues: issuesOf(value, result.error) };
}

/** Returns all issues. Adds the issues of values below an invalid key, which zod does not check. */
function issuesOf(value: unknown, error: z.ZodError): Issue[] {
  const belowInvalidKeys = error.issues.flatMap((issue): Issue[] => {
    const schema = issue.code === 'invalid_key' ? ENTRY_SCHEMAS[String(issue.path[0])] : undefined;
    const entry = schema?.safeParse(valueAt(value, issue.path as (string | number)[]));
    return (entry?.error?.issues ?? []).map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
  });
  return [...error.issues, ...belowInvalidKeys].flatMap((issue) => unionIssues(issue, value));
}

/**
 * Replaces the issue of a union with the issues of one alternative. The alternative must be the only one that accepts
 * the type of the value (map or list). Otherwise returns the issue of the union.
 */
function unionIssues(issue: Issue, value: unknown): readonly Issue[] {
  const found = issue.code === 'invalid_union' ? valueAt(value, issue.path as (string | number)[]) : undefined;
  if (issue.code !== 'invalid_union' || typeof found !== 'object') return [issue];
  const isOfKind = (issues: readonly Issue[]): boolean =>
    !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0);
  const [matching, ...others] = issue.errors.filter(isOfKind);
  if (matching === undefined || others.length > 0) return [issue];
  return matching.map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
}

/** Converts invalid texts from variables to numbers or booleans, in place. Returns true if any value changed. */
function coerce(value: unknown, issues: readonly Issue[], substituted: ReadonlySet<string>): boolean {
  let isChanged = false;
  for (const issue of issues) {
    const path = issue.path as (string | number)[];
    const parent = valueAt(value, path.slice(0, -1)) as Record<string | number, unknown> | undefined;
    const key = path.at(-1);
    if (parent === undefined || key === undefined || !substituted.has(formatPath(path))) continue;
    const coerced = coerceText(parent[key]);
    isChanged ||= coerced !== parent[key];
    parent[key] = coerced;
  }
  return isChanged;
}

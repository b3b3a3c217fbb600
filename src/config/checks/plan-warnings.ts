/** Warns about limits of plans that are valid but probably unintended. */
import { WINDOW_PERIODS, WINDOWS } from '../../platform/quotas/windows.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import type { GatewayFile, Operation, PlanConfig } from '../model/schema.js';
import type { SourceDocument } from '../source/source-document.js';

/** Maximum number of operations that a warning names. */
const MAX_NAMED = 3;

/** Returns warnings about all plans, located at the affected limits. */
export function planWarnings(
  source: SourceDocument,
  plans: GatewayFile['plans'],
  operations: readonly Operation[],
): ConfigProblem[] {
  return Object.entries(plans).flatMap(([name, plan]) => [
    ...costWarnings(source, ['plans', name], plan, operations),
    ...zeroWarnings(source, ['plans', name], plan),
    ...keyAboveAccountWarnings(source, ['plans', name], plan),
    ...shadowWarnings(source, ['plans', name], plan),
  ]);
}

/**
 * Warns about operations whose cost is above a limit, because the gateway refuses every call to them. `zeroWarnings`
 * reports limits of 0.
 */
function costWarnings(
  source: SourceDocument,
  path: DocumentPath,
  plan: PlanConfig,
  operations: readonly Operation[],
): ConfigProblem[] {
  return WINDOWS.flatMap(({ of, period: window }) => {
    const limit = plan[of][window];
    if (limit === undefined || limit === 0) return [];
    const costly = operations.filter(({ cost }) => cost > limit);
    if (costly.length === 0) return [];
    const named = costly.slice(0, MAX_NAMED).map(({ method, template, cost }) => `${method} ${template} (${cost})`);
    const others = costly.length > MAX_NAMED ? ` and ${costly.length - MAX_NAMED} more` : '';
    return source.problem(
      [...path, of, window],
      `${named.join(', ')}${others} cost${costly.length === 1 ? 's' : ''} more than this limit of ${limit}, and ` +
        'can never be called',
      'raise the limit or lower the cost, unless the plan is meant to be without it',
    );
  });
}

function zeroWarnings(source: SourceDocument, path: DocumentPath, plan: PlanConfig): ConfigProblem[] {
  return WINDOWS.flatMap(({ of, period: window }) => {
    if (plan[of][window] !== 0) return [];
    const message = 'admits no request: a limit of 0 refuses every one';
    return [source.problem([...path, of, window], message, 'leave it out for no limit')];
  });
}

function keyAboveAccountWarnings(
  source: SourceDocument,
  path: DocumentPath,
  { key, account }: PlanConfig,
): ConfigProblem[] {
  return WINDOW_PERIODS.flatMap((window) => {
    const [ofKey, ofAccount] = [key[window], account[window]];
    if (ofKey === undefined || ofAccount === undefined || ofKey <= ofAccount) return [];
    return source.problem(
      [...path, 'key', window],
      `is above the account's limit for the same window (${ofAccount}), so it never refuses anything`,
      'leave it out, or lower it',
    );
  });
}

/**
 * Warns about shadow limits that never report a refusal. Shadow limits count only requests that the live limits admit.
 */
function shadowWarnings(source: SourceDocument, path: DocumentPath, { shadow, ...live }: PlanConfig): ConfigProblem[] {
  if (shadow === undefined) return [];
  if (WINDOWS.every(({ of, period: window }) => shadow[of][window] === undefined)) {
    const message = 'names no limit, so it never refuses anything';
    return [source.problem([...path, 'shadow'], message, 'name a limit, or leave it out', 'key')];
  }
  return WINDOWS.flatMap(({ of, period: window }) => {
    const [limit, liveLimit] = [shadow[of][window], live[of][window]];
    if (limit === undefined || liveLimit === undefined || limit < liveLimit) return [];
    return source.problem(
      [...path, 'shadow', of, window],
      `is not below the limit in force (${liveLimit}), so it never refuses anything`,
      'leave it out, or try a lower one',
    );
  });
}

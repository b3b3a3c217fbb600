/** Creates the error for keys that lack scopes. */
import type { Operation } from '../config/model/schema.js';
import { FixedProblem, Problem } from '../platform/problems/errors.js';
import { insufficientScopeChallenge } from './bearer.js';
import { missingScopes } from './scopes.js';

/** Maximum number of cached problems per operation, because the subsets of many scopes can be numerous. */
const MOST_KEPT = 32;

/** Problems by the scopes of the operation and by the missing scopes. */
const kept = new WeakMap<Operation['scopes'], Map<string, Problem>>();

/**
 * Returns a 403 `insufficient_scope` that lists the missing scopes.
 * @param needed scopes of the operation. At least one must be missing in `granted`.
 */
export function scopeProblem(granted: readonly string[], needed: Operation['scopes']): Problem {
  const missing = missingScopes(granted, needed);
  let ofOperation = kept.get(needed);
  if (ofOperation === undefined) kept.set(needed, (ofOperation = new Map()));
  const name = missing.join(' ');
  const known = ofOperation.get(name);
  if (known !== undefined) return known;
  const options = {
    detail: `This API key lacks ${missing.length === 1 ? 'the scope' : 'the scopes'} ${missing.join(', ')}.`,
    headers: ['WWW-Authenticate', insufficientScopeChallenge(needed)],
    missingScopes: missing,
  };
  if (ofOperation.size >= MOST_KEPT) return new Problem('insufficient_scope', options);
  const problem = new FixedProblem('insufficient_scope', options);
  ofOperation.set(name, problem);
  return problem;
}

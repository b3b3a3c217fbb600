/** Creates the error for an API key that lacks scopes. */
import type { Operation } from '../config/model/schema.js';
import { FixedProblem, Problem } from '../platform/problems/errors.js';
import { insufficientScopeChallenge } from './bearer.js';
import { missingScopes } from './scopes.js';

/** Maximum number of cached problems per list of scopes. A long list has many subsets. */
const MAX_CACHED = 32;

/** Cached problems by the scopes of the operation, then by the missing scopes. */
const cache = new WeakMap<Operation['scopes'], Map<string, Problem>>();

/**
 * Returns a 403 `insufficient_scope` that lists the missing scopes.
 * @param needed scopes of the operation. At least one must be missing in `granted`.
 */
export function scopeProblem(granted: readonly string[], needed: Operation['scopes']): Problem {
  const missing = missingScopes(granted, needed);
  let byMissing = cache.get(needed);
  if (byMissing === undefined) cache.set(needed, (byMissing = new Map()));
  const name = missing.join(' ');
  const known = byMissing.get(name);
  if (known !== undefined) return known;
  const options = {
    detail: `This API key lacks ${missing.length === 1 ? 'the scope' : 'the scopes'} ${missing.join(', ')}.`,
    headers: ['WWW-Authenticate', insufficientScopeChallenge(needed)],
    missingScopes: missing,
  };
  if (byMissing.size >= MAX_CACHED) return new Problem('insufficient_scope', options);
  const problem = new FixedProblem('insufficient_scope', options);
  byMissing.set(name, problem);
  return problem;
}

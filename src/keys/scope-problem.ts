/** The refusal of a key that may not do what it asks for. */
import type { Operation } from '../config/model/schema.js';
import { FixedProblem, Problem } from '../platform/problems/errors.js';
import { insufficientScopeChallenge } from './bearer.js';
import { missingScopes } from './scopes.js';

/** Most refusals that are kept of an operation: one that needs many scopes can lack them in very many ways. */
const MOST_KEPT = 32;

/** By what an operation needs, and by what of it is missing. */
const kept = new WeakMap<Operation['scopes'], Map<string, Problem>>();

/**
 * 403 `insufficient_scope`, naming the scopes that are missing.
 * @param needed by the operation; not all of them are granted.
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

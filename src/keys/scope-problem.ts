/** The refusal of a key that may not do what it asks for. */
import { Problem } from '../errors.js';
import { insufficientScopeChallenge } from './bearer.js';
import { missingScopes } from './scopes.js';

/** 403 `insufficient_scope`, naming the scopes that are missing. @param needed by the operation; not all of them are granted. */
export function scopeProblem(granted: readonly string[], needed: readonly string[]): Problem {
  const missing = missingScopes(granted, needed);
  return new Problem('insufficient_scope', {
    detail: `This API key lacks ${missing.length === 1 ? 'the scope' : 'the scopes'} ${missing.join(', ')}.`,
    headers: ['WWW-Authenticate', insufficientScopeChallenge(needed)],
    extensions: { missing_scopes: missing },
  });
}

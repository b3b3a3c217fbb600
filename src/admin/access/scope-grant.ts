/** Which scopes a caller may hand out: who comes through a portal has those that the company named, and no others. */
import { missingScopes } from '../../keys/scopes.js';
import { Problem } from '../../problems/errors.js';
import type { Principal } from './principal.js';

/** Throws `forbidden` where a key would have, or has, a scope that the caller's portal session lacks. */
export function checkMayHandOut(principal: Principal, scopes: readonly string[]): void {
  const granted = principal.kind === 'portal' ? principal.portal.scopes : null;
  if (granted === null) return;
  const missing = missingScopes(granted, scopes);
  if (missing.length === 0) return;
  throw new Problem('forbidden', {
    detail: `From here, keys have no other scopes than ${granted.join(', ')}.`,
    missingScopes: missing,
  });
}

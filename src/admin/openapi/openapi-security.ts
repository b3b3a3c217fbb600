/** Security section of each operation, from the table of operations. */
import type { Permission } from '../../members/permissions.js';
import type { Json } from './openapi-schemas.js';

/** Authentication schemes. */
export const SECURITY_SCHEMES = {
  operatorToken: { type: 'http', scheme: 'bearer', description: 'The value of TRAILGATE_ADMIN_TOKEN.' },
  accountToken: { type: 'http', scheme: 'bearer', description: 'A token of an account, `tga_…`.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-tg_session',
    description: 'Session of a signed-in browser. The panel sends changes with X-CSRF-Token.',
  },
} as const;

/**
 * Returns `security`, the allowed roles (`x-roles`) and when a session must confirm (`x-confirmation`). Operations
 * without sign-in get only `security`.
 */
export function securityOf({ about, roles, tokens, confirm }: Permission): Json {
  if (about === 'anybody') return { security: [] };
  const operatorToken = tokens === 'none' ? [] : [{ operatorToken: [] }];
  const accountToken = tokens === 'any' ? [{ accountToken: [] }] : [];
  const security = [...operatorToken, { session: [] }, ...accountToken];
  return { security, 'x-roles': ['operator', ...roles], 'x-confirmation': confirm };
}

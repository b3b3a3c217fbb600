/** Defines the authentication schemes and permissions of operations in the OpenAPI document. */
import { needsNoSignIn, type Permission } from '../../members/permissions.js';
import type { Json } from './openapi-schemas.js';

/** Authentication schemes: operator token, account token and session cookie. */
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
 * Returns the schemes that an operation accepts (`security`), the allowed roles (`x-roles`), and when a member must
 * confirm their identity (`x-confirmation`). Operations that need no sign-in get only an empty `security`.
 */
export function securityOf(permission: Permission): Json {
  if (needsNoSignIn(permission)) return { security: [] };
  const { roles, tokens, confirm } = permission;
  const operatorToken = tokens === 'none' ? [] : [{ operatorToken: [] }];
  const accountToken = tokens === 'any' ? [{ accountToken: [] }] : [];
  const security = [...operatorToken, { session: [] }, ...accountToken];
  return { security, 'x-roles': ['operator', ...roles], 'x-confirmation': confirm };
}

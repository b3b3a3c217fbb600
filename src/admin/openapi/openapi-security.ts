/** Who may call an operation, as its description says it: read from the table of permissions. */
import type { Permission } from '../../members/permissions.js';
import type { Json } from './openapi-schemas.js';

/** How a caller says who they are. */
export const SECURITY_SCHEMES = {
  operatorToken: { type: 'http', scheme: 'bearer', description: 'The value of TRAILGATE_ADMIN_TOKEN.' },
  accountToken: { type: 'http', scheme: 'bearer', description: 'A token of an account, `tga_…`.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-tg_session',
    description: 'A browser that is signed in. What changes something is asked by the panel, with X-CSRF-Token.',
  },
} as const;

/** `security` and, as `x-roles`, the roles that may; neither for what needs no sign-in. */
export function securityOf({ about, roles, tokens }: Permission): Json {
  if (about === 'anybody') return { security: [] };
  const operatorToken = about !== 'oneself' || tokens ? [{ operatorToken: [] }] : [];
  const accountToken = tokens ? [{ accountToken: [] }] : [];
  return { security: [...operatorToken, { session: [] }, ...accountToken], 'x-roles': ['operator', ...roles] };
}

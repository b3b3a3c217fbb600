/** Defines the OAuth authorization request resource, which the panel shows, and the bodies of the user's decision. */
import { z } from 'zod';
import { SCOPE_PATTERN } from '../../config/model/values.js';
import type { AuthorizationRequest } from '../../authorization/clients/authorization-requests.js';

const accountId = z.string().max(100).meta({ description: 'Account whose quota the client uses.' });

export const authorizationRequestSchema = z
  .object({
    client_id: z.string().max(2_048),
    client_name: z.string().max(200).meta({ description: 'Chosen by the client. Not verified.' }),
    client_host: z
      .string()
      .max(255)
      .nullable()
      .meta({ description: 'Host of the client, if verified; null: the client registered itself.' }),
    redirect_host: z.string().max(255).meta({ description: 'Where the browser is redirected after the decision.' }),
    scopes: z.array(z.string().max(200)).max(10_000).meta({ description: 'Requested scopes.' }),
    longest_access_days: z.int().min(0).meta({ description: 'Maximum length of access, in days.' }),
  })
  .meta({ id: 'AuthorizationRequest' });

export const approveAuthorizationRequestSchema = z
  .strictObject({
    account_id: accountId,
    scopes: z
      .array(z.string().max(200).regex(SCOPE_PATTERN, 'must be resource:verb, for example customers:read'))
      .min(1, 'must name at least one scope')
      .max(100)
      .overwrite((list) => [...new Set(list)])
      .meta({ description: 'Granted scopes, a subset of the requested ones.', example: ['customers:read'] }),
    expires_at: z.iso
      .datetime({ offset: true, error: 'must be a time such as 2027-01-31T23:59:59+01:00' })
      .max(40)
      .meta({ description: 'When the access expires (RFC 3339).', example: '2027-01-31T23:59:59+01:00' }),
  })
  .meta({ id: 'ApproveAuthorizationRequest' });

export const authorizationDecisionSchema = z
  .object({ redirect_url: z.string().max(4_096).meta({ description: 'Where to redirect the browser.' }) })
  .meta({ id: 'AuthorizationDecision' });

export type AuthorizationRequestResource = z.output<typeof authorizationRequestSchema>;
export type ApproveAuthorizationRequest = z.output<typeof approveAuthorizationRequestSchema>;
export type AuthorizationDecision = z.output<typeof authorizationDecisionSchema>;

const DAY_MS = 86_400_000;

/**
 * Returns the API resource of an authorization request.
 * @param longestMs maximum length of access, in milliseconds; rounded down to days
 */
export function authorizationRequestResource(
  request: AuthorizationRequest,
  longestMs: number,
): AuthorizationRequestResource {
  return {
    client_id: request.clientId,
    client_name: request.clientName,
    client_host: request.clientHost,
    redirect_host: request.redirectHost,
    scopes: [...request.scopes],
    longest_access_days: Math.floor(longestMs / DAY_MS),
  };
}

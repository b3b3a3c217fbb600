/** What the admin API alone answers with: signing in, sessions, roles, links. Part of the catalogue in `errors.ts`. */
import type { ErrorEntry } from './error-entry.js';

export const ADMIN_ERRORS = {
  missing_credentials: { status: 401, title: 'Sign in first', fault: 'client' },
  invalid_credentials: { status: 401, title: 'The credentials are not valid', fault: 'client' },
  session_ended: { status: 401, title: 'The session has ended', fault: 'client' },
  sign_in_ended: { status: 401, title: 'The sign-in is over', fault: 'client' },
  cross_site_request: { status: 403, title: 'The request does not come from the panel', fault: 'client' },
  confirmation_required: { status: 403, title: 'Show first that it is you', fault: 'client' },
  link_ended: { status: 410, title: 'The link does not work any more', fault: 'client' },
  identity_unknown: { status: 403, title: 'Nobody here has this identity', fault: 'client' },
  last_owner: { status: 409, title: 'The account would be without an owner', fault: 'client' },
  last_way_to_sign_in: { status: 409, title: 'You could not sign in any more', fault: 'client' },
  already_a_member: { status: 409, title: 'They are a member already', fault: 'client' },
  identity_provider_unavailable: {
    status: 503,
    title: 'The identity provider does not answer as it should',
    fault: 'gateway',
  },
  sign_in_busy: { status: 503, title: 'Too many people sign in at this moment', fault: 'gateway' },
  idempotency_secret_shown: { status: 409, title: 'It was done, and its secret was shown', fault: 'client' },
  too_many_endpoints: { status: 409, title: 'The account has as many webhook endpoints as it may', fault: 'client' },
  previous_secret_active: { status: 409, title: 'The previous secret still works', fault: 'client' },
  webhook_secret_in_use: { status: 409, title: 'An endpoint has this secret already', fault: 'client' },
  webhook_endpoint_disabled: { status: 409, title: 'The webhook endpoint is not enabled', fault: 'client' },
  secrets_unavailable: { status: 503, title: 'Secrets cannot be sealed or opened', fault: 'gateway' },
  event_conflict: { status: 409, title: 'The event id stands for another event', fault: 'client' },
  too_many_requests: { status: 429, title: 'Too many requests', fault: 'client' },
  database_unavailable: { status: 503, title: 'The database cannot be reached right now', fault: 'gateway' },
} as const satisfies Record<string, ErrorEntry>;

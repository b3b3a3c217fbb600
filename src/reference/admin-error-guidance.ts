/** What the errors of the admin API mean, and what to do. Part of the guidance in `error-guidance.ts`. */
import type { ADMIN_ERRORS } from '../platform/problems/admin-errors.js';
import { RETRY_LATER, type ErrorGuidance } from './guidance-words.js';

export const ADMIN_ERROR_GUIDANCE: Readonly<Record<keyof typeof ADMIN_ERRORS, ErrorGuidance>> = {
  missing_credentials: {
    meaning: 'The admin API was asked without credentials.',
    action: 'Sign in, or send a token of the account or of the operators.',
  },
  invalid_credentials: {
    meaning: 'The credentials for the admin API are wrong.',
    action: 'Compare them; sign in again.',
  },
  session_ended: {
    meaning: 'You were signed in; the session timed out, or was ended here or elsewhere.',
    action: 'Sign in again.',
  },
  sign_in_ended: {
    meaning: 'The sign-in took too long, or had too many wrong codes.',
    action: 'Begin again with the first step.',
  },
  cross_site_request: {
    meaning: 'A browser sent this with your session, and nothing shows that a page of the panel asked for it.',
    action: 'Use the panel itself; a program sends a token instead of a cookie.',
  },
  confirmation_required: {
    meaning: 'This needs a fresh sign of who you are, and the last one is more than ten minutes old.',
    action: 'Confirm in one of the ways of `confirm_with`, then send the same again. Where it is empty: sign in anew.',
  },
  link_ended: {
    meaning: 'The link was used, taken back or is too old, or was not copied whole.',
    action: 'Ask whoever sent it for a new one.',
  },
  identity_unknown: {
    meaning: 'The identity provider knows who this is, and nobody here has linked that identity.',
    action: 'Sign in another way and link it, or ask for an invitation to the address that the provider knows.',
  },
  last_owner: {
    meaning: 'An account keeps at least one owner.',
    action: 'Make somebody else an owner first.',
  },
  last_way_to_sign_in: {
    meaning: 'This is the only way in which the member can sign in, and nobody locks themselves out.',
    action: 'Add a passkey, a password or an identity first, then take this one away.',
  },
  already_a_member: {
    meaning: 'Whoever has this address is a member of the account already.',
    action: 'Change their role instead.',
  },
  identity_provider_unavailable: {
    meaning: 'The identity provider cannot be reached, or gives no response that can be trusted.',
    action: 'Sign in another way, or try again shortly.',
  },
  sign_in_busy: {
    meaning: 'More people sign in at this moment than there is work for. Nothing was tried, and nothing counts.',
    action: 'Wait for `Retry-After`, then sign in again.',
  },
  idempotency_secret_shown: {
    meaning: 'The request was done when it was first sent. Its response held a secret, which is kept nowhere.',
    action: 'Where the secret was lost, rotate what `Location` names, or revoke it and make another.',
  },
  too_many_endpoints: {
    meaning: 'The account has as many webhook endpoints as the operators allow.',
    action: 'Delete one that is not needed any more, or let one endpoint take more types of events.',
  },
  previous_secret_active: {
    meaning: 'An earlier rotation promised to keep the previous secret, and this rotation would end it early.',
    action: 'Wait until it ends, or send `end_previous_secret: true`. Check its last use first, under `…/impact`.',
  },
  webhook_secret_in_use: {
    meaning: 'The secret that was brought along belongs to a webhook endpoint already. Each needs one of its own.',
    action: 'Leave `secret` out to have one made, or bring another one.',
  },
  webhook_endpoint_disabled: {
    meaning: 'The webhook endpoint is paused or disabled: nothing goes out to it but a test.',
    action: 'Enable it first; what waits goes out then.',
  },
  secrets_unavailable: {
    meaning: 'The installation has no key to seal secrets with, or another one than they were sealed with.',
    action: 'Operators set `TRAILGATE_SECRETS_KEY` to the right key on every machine. Events wait meanwhile.',
  },
  event_conflict: {
    meaning: 'An event with this id was handed in before, and said something else. None of this request was taken in.',
    action: 'Give each event an id of its own, and send the same event again unchanged.',
  },
  too_many_requests: {
    meaning:
      'The admin API was asked too often, or for too many mails to people; it has no part in the limits of a plan.',
    action: 'Wait for `Retry-After`.',
  },
  database_unavailable: {
    meaning: 'The database cannot be reached at the moment; nothing was changed.',
    action: RETRY_LATER,
  },
};

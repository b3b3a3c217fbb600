/** What was done, in words. */
import { useLingui } from '@lingui/react/macro';

/** The words for an action; one that is new here keeps its name. */
export function useActionWords(): (action: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    'api_key.created': t`Key created`,
    'api_key.updated': t`Key changed`,
    'api_key.rotated': t`New secret for a key`,
    'api_key.revoked': t`Key revoked`,
    'api_key.paused': t`Key paused`,
    'api_key.resumed': t`Key goes on`,
    'account.created': t`Account created`,
    'account.updated': t`Account changed`,
    'account_token.created': t`Token created`,
    'account_token.revoked': t`Token revoked`,
    'quota_adjustment.created': t`Limit of the month adjusted`,
    'member.created': t`Member created`,
    'member.joined': t`Member joined`,
    'member.updated': t`Member changed`,
    'member.removed': t`Member removed`,
    'member.password_changed': t`Password changed`,
    'member.password_link_made': t`Link for a new password made`,
    'member.role_changed': t`Role changed`,
    'member.totp_added': t`Authenticator app set up`,
    'member.totp_removed': t`Authenticator app removed`,
    'member.recovery_codes_replaced': t`New recovery codes made`,
    'member.identity_linked': t`Linked sign-in added`,
    'member.identity_unlinked': t`Linked sign-in removed`,
    'member.sessions_ended': t`Sessions ended`,
    'member.passkey_added': t`Passkey added`,
    'member.passkey_removed': t`Passkey removed`,
    'member.passkey_renamed': t`Passkey renamed`,
    'invitation.created': t`Invitation sent`,
    'invitation.resent': t`Invitation sent again`,
    'invitation.revoked': t`Invitation taken back`,
    'session.ended': t`Session ended`,
    'session.signed_out': t`Signed out`,
    'portal_session.created': t`Link from another site made`,
    'portal_session.all_ended': t`Sessions from another site ended`,
    'webhook_endpoint.created': t`Webhook endpoint created`,
    'webhook_endpoint.updated': t`Webhook endpoint changed`,
    'webhook_endpoint.enabled': t`Webhook endpoint enabled`,
    'webhook_endpoint.paused': t`Webhook endpoint paused`,
    'webhook_endpoint.disabled': t`Webhook endpoint disabled`,
    'webhook_endpoint.deleted': t`Webhook endpoint deleted`,
    'webhook_endpoint.secret_rotated': t`New secret for a webhook endpoint`,
    'webhook_endpoint.tested': t`Webhook tested`,
    'webhook_endpoint.replayed': t`Webhooks replayed`,
    'webhook_delivery.retried': t`Webhook sent again`,
    'sign_in.succeeded': t`Signed in`,
    'sign_in.refused': t`Sign-in refused`,
  };
  return (action) => words[action] ?? action;
}

/** The words for a field that changed. */
export function useFieldWords(): (field: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    name: t`Name`,
    scopes: t`What it may do`,
    status: t`State`,
    expires_at: t`Works until`,
    allowed_ips: t`Addresses`,
    limits: t`Limits of its own`,
    plan: t`Plan`,
    time_zone: t`Time zone`,
    billing_day: t`First day of the month`,
    role: t`Role`,
    hint: t`Secret`,
    url: t`URL`,
    description: t`Description`,
    event_types: t`Which events`,
    ordered: t`In order`,
  };
  return (field) => words[field] ?? field;
}

/** The words for who did something; a member or token is called as it was then. */
export function useActorWords(): (actor: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = { operator: t`The operator`, system: t`Trailgate` };
  return (actor) => words[actor] ?? actor;
}

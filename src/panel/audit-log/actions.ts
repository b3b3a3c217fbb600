/** Labels of the actions in the audit log, in the language of the page. */
import { useLingui } from '@lingui/react/macro';

/**
 * Returns a function that returns the label of an action. For an unknown action, that function returns the code of the
 * action.
 */
export function useActionLabel(): (action: string) => string {
  const { t } = useLingui();
  const words: Readonly<Record<string, string>> = {
    'api_key.created': t`Key created`,
    'api_key.updated': t`Key changed`,
    'api_key.rotated': t`Key rotated`,
    'api_key.previous_secret_ended': t`Previous secret ended`,
    'api_key.revoked': t`Key revoked`,
    'api_key.paused': t`Key paused`,
    'api_key.resumed': t`Key resumed`,
    'account.created': t`Account created`,
    'account.updated': t`Account changed`,
    'account.deleted': t`Account deleted`,
    'account_token.created': t`Token created`,
    'account_token.revoked': t`Token revoked`,
    'quota_adjustment.created': t`Monthly limit adjusted`,
    'member.created': t`Member created`,
    'member.joined': t`Member joined`,
    'member.updated': t`Member changed`,
    'member.removed': t`Member removed`,
    'member.left': t`Member left`,
    'member.forgotten': t`Member data erased`,
    'member.password_changed': t`Password changed`,
    'member.password_link_made': t`Password reset link created`,
    'member.password_link_revoked': t`Password link revoked`,
    'member.role_changed': t`Role changed`,
    'member.totp_added': t`Authenticator app set up`,
    'member.totp_removed': t`Authenticator app removed`,
    'member.recovery_codes_replaced': t`Recovery codes created`,
    'member.identity_linked': t`Linked sign-in added`,
    'member.identity_unlinked': t`Linked sign-in removed`,
    'member.sessions_ended': t`Sessions ended`,
    'member.passkey_added': t`Passkey added`,
    'member.passkey_removed': t`Passkey removed`,
    'member.passkey_renamed': t`Passkey renamed`,
    'installation.exported': t`Records exported`,
    'invitation.created': t`Invitation sent`,
    'invitation.resent': t`Invitation resent`,
    'invitation.revoked': t`Invitation revoked`,
    'session.ended': t`Session ended`,
    'session.signed_out': t`Signed out`,
    'portal_session.created': t`Portal link created`,
    'portal_session.begun': t`Signed in via portal`,
    'portal_session.revoked': t`Portal session ended`,
    'portal_session.all_ended': t`Portal sessions ended`,
    'webhook_endpoint.created': t`Webhook endpoint created`,
    'webhook_endpoint.updated': t`Webhook endpoint changed`,
    'webhook_endpoint.enabled': t`Webhook endpoint enabled`,
    'webhook_endpoint.paused': t`Webhook endpoint paused`,
    'webhook_endpoint.disabled': t`Webhook endpoint disabled`,
    'webhook_endpoint.deleted': t`Webhook endpoint deleted`,
    'webhook_endpoint.previous_secret_ended': t`Previous webhook secret ended`,
    'webhook_endpoint.secret_rotated': t`Webhook secret rotated`,
    'webhook_endpoint.tested': t`Test event sent`,
    'webhook_endpoint.replayed': t`Webhooks resent`,
    'webhook_delivery.retried': t`Webhook resent`,
    'sign_in.succeeded': t`Signed in`,
    'sign_in.refused': t`Sign-in rejected`,
  };
  return (action) => words[action] ?? action;
}

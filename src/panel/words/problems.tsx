/**
 * Titles and advice for errors, in the language of the page. They replace the API's own texts, which are English and
 * technical.
 */
import { plural } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { ApiProblem, Unreachable } from '../api/problem.js';
import { PasskeyCanceled, PasskeyAlreadyExists } from '../api/passkey.js';

const SECONDS_OF_MINUTE = 60;

export interface ProblemText {
  readonly title: string;
  readonly advice: string;
}

/** Returns a function that returns title and advice for an error. Unknown errors get a general text. */
export function useProblemText(): (error: unknown) => ProblemText {
  const { t } = useLingui();
  return (error) => {
    if (error instanceof Unreachable)
      return {
        title: t`Can't reach the server`,
        advice: t`Nothing was lost. Check your connection and try again.`,
      };
    if (error instanceof PasskeyCanceled)
      return { title: t`No passkey received`, advice: t`Try again, or choose another method.` };
    if (error instanceof PasskeyAlreadyExists)
      return {
        title: t`This device already has a passkey for you`,
        advice: t`You can find it in your list of passkeys.`,
      };
    if (!(error instanceof ApiProblem))
      return { title: t`Something went wrong on this page`, advice: t`Reload the page.` };
    switch (error.code) {
      case 'invalid_credentials':
        return { title: t`Incorrect sign-in details`, advice: t`Check your email, password or code and try again.` };
      case 'session_ended':
      case 'missing_credentials':
        return { title: t`You have been signed out`, advice: t`Sign in again to continue.` };
      case 'sign_in_ended':
        return { title: t`Request timed out`, advice: t`Start over with your password.` };
      case 'confirmation_required':
        return { title: t`Not confirmed`, advice: t`Try again and confirm it's you.` };
      case 'forbidden':
        return { title: t`Your role doesn't allow this`, advice: t`Ask an owner of the account.` };
      case 'resource_not_found':
      case 'route_not_found':
        return { title: t`Not found`, advice: t`It may have been deleted or belong to another account.` };
      case 'link_ended':
        return {
          title: t`This link has expired or was already used`,
          advice: t`Ask for a new one, or sign in.`,
        };
      case 'precondition_failed':
        return {
          title: t`This was changed while you were editing`,
          advice: t`Review the current version, then make your change again.`,
        };
      case 'conflict':
        return {
          title: t`This action isn't available right now`,
          advice: t`Reload the page to see the current state.`,
        };
      case 'previous_secret_active':
        return {
          title: t`The previous secret still works`,
          advice: t`Reload the page to see when it expires. Then rotate, or end the previous secret first.`,
        };
      case 'too_many_endpoints':
        return { title: t`Endpoint limit reached`, advice: t`Delete an endpoint first.` };
      case 'webhook_secret_in_use':
        return { title: t`Another endpoint uses this secret`, advice: t`Leave the secret empty to create a new one.` };
      case 'webhook_endpoint_disabled':
        return { title: t`This endpoint is not enabled`, advice: t`Resume it first, then try again.` };
      case 'secrets_unavailable':
        return {
          title: t`The server can't store secrets right now`,
          advice: t`Nothing has changed. The operator must check the server's encryption key.`,
        };
      case 'gateway_overloaded':
        return { title: t`The server is busy`, advice: t`Nothing has changed. Try again in a moment.` };
      case 'account_suspended':
        return { title: t`The account is suspended`, advice: t`You can view everything, but not make changes.` };
      case 'last_owner':
        return { title: t`An account needs an owner`, advice: t`Make someone else an owner first.` };
      case 'last_way_to_sign_in':
        return {
          title: t`You need a sign-in method`,
          advice: t`Add a password, a passkey or a linked sign-in first, then remove this one.`,
        };
      case 'already_a_member':
        return { title: t`Already a member`, advice: t`Change their role in the list.` };
      case 'identity_unknown':
        return { title: t`Unknown sign-in`, advice: t`Ask an owner of the account to invite you.` };
      case 'identity_provider_unavailable':
        return {
          title: t`This sign-in method isn't available right now`,
          advice: t`Use another method, or try again later.`,
        };
      case 'too_many_failed_attempts':
        return { title: t`Too many attempts`, advice: waitAdvice(error) };
      case 'too_many_requests':
        return { title: t`Too many requests`, advice: waitAdvice(error) };
      case 'sign_in_busy':
      case 'database_unavailable':
        return { title: t`The server is busy`, advice: t`Nothing has changed. Try again in a moment.` };
      case 'idempotency_secret_shown':
        return {
          title: t`The key was created, but the connection dropped before we could show it.`,
          advice: t`Open the key and rotate it.`,
        };
      default:
        return {
          title: t`Something went wrong`,
          advice: t`Try again. If this keeps happening, contact support with the reference below.`,
        };
    }
  };
}

/**
 * Says when the user can try again, in seconds or, from one minute on, in minutes. Without `Retry-After`, says to wait
 * a minute.
 */
function waitAdvice({ retryAfterSeconds = SECONDS_OF_MINUTE }: ApiProblem): string {
  if (retryAfterSeconds < SECONDS_OF_MINUTE)
    return plural(retryAfterSeconds, { one: 'Try again in # second.', other: 'Try again in # seconds.' });
  const minutes = Math.ceil(retryAfterSeconds / SECONDS_OF_MINUTE);
  return plural(minutes, { one: 'Try again in # minute.', other: 'Try again in # minutes.' });
}

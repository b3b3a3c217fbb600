/** What went wrong, in words that say what to do; the API's own are English and for engineers. */
import { plural } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { ApiProblem, Unreachable } from '../api/problem.js';
import { PasskeyNotShown, PasskeyThereAlready } from '../api/passkey.js';

const SECONDS_OF_MINUTE = 60;

export interface ProblemWords {
  readonly title: string;
  readonly advice: string;
}

/** The words for an error, in the language of the page. */
export function useProblemWords(): (error: unknown) => ProblemWords {
  const { t } = useLingui();
  return (error) => {
    if (error instanceof Unreachable)
      return {
        title: t`The server cannot be reached`,
        advice: t`Check your connection. Nothing that you typed is lost: try again in a moment.`,
      };
    if (error instanceof PasskeyNotShown)
      return { title: t`No passkey was shown`, advice: t`Try again, or choose another way.` };
    if (error instanceof PasskeyThereAlready)
      return { title: t`This device has a passkey for you already`, advice: t`It is in your list.` };
    if (!(error instanceof ApiProblem))
      return { title: t`Something went wrong on this page`, advice: t`Load the page again.` };
    switch (error.code) {
      case 'invalid_credentials':
        return { title: t`That did not match`, advice: t`Check what you typed and try again.` };
      case 'session_ended':
      case 'missing_credentials':
        return { title: t`You have been signed out`, advice: t`Sign in again to go on.` };
      case 'sign_in_ended':
        return { title: t`That took too long`, advice: t`Begin again with your password.` };
      case 'confirmation_required':
        return { title: t`This was not confirmed`, advice: t`Try again and show that it is you.` };
      case 'forbidden':
        return { title: t`Your role does not allow this`, advice: t`Ask an owner of the account.` };
      case 'resource_not_found':
      case 'route_not_found':
        return { title: t`There is nothing here`, advice: t`It may have been removed, or belong to another account.` };
      case 'link_ended':
        return {
          title: t`This link does not work any more`,
          advice: t`It was used, or is too old. Ask for a new one.`,
        };
      case 'precondition_failed':
        return {
          title: t`Somebody else changed this meanwhile`,
          advice: t`Look at what it is now, then make your change again.`,
        };
      case 'conflict':
        return { title: t`This cannot be done now`, advice: t`Load the page again and look at what it is now.` };
      case 'previous_secret_active':
        return {
          title: t`The previous secret still works`,
          advice: t`Load the page again to see until when. Then rotate, or end the previous secret first.`,
        };
      case 'too_many_endpoints':
        return { title: t`The account has as many endpoints as it may`, advice: t`Delete one first.` };
      case 'webhook_secret_in_use':
        return { title: t`An endpoint has this secret already`, advice: t`Let a new one be made.` };
      case 'webhook_endpoint_disabled':
        return { title: t`The endpoint does not take events now`, advice: t`Resume it first, then try again.` };
      case 'secrets_unavailable':
        return {
          title: t`The server cannot keep secrets right now`,
          advice: t`Nothing has changed. Whoever runs this server has to look at the key for its secrets.`,
        };
      case 'gateway_overloaded':
        return { title: t`The server is busy`, advice: t`Nothing has changed. Try again in a moment.` };
      case 'account_suspended':
        return { title: t`The account is suspended`, advice: t`Everything can be read, and nothing changed.` };
      case 'last_owner':
        return { title: t`The account would be without an owner`, advice: t`Make somebody else an owner first.` };
      case 'last_way_to_sign_in':
        return {
          title: t`You could not sign in any more`,
          advice: t`Add a password, a passkey or a linked sign-in first, then take this one away.`,
        };
      case 'already_a_member':
        return { title: t`They are a member already`, advice: t`Change their role in the list.` };
      case 'identity_unknown':
        return { title: t`Nobody here has this sign-in`, advice: t`Ask an owner of the account to invite you.` };
      case 'identity_provider_unavailable':
        return {
          title: t`This way of signing in does not work right now`,
          advice: t`Try another one, or wait a moment.`,
        };
      case 'too_many_failed_attempts':
        return { title: t`Too many attempts`, advice: waitWords(error) };
      case 'too_many_requests':
        return { title: t`Too many requests`, advice: waitWords(error) };
      case 'sign_in_busy':
      case 'database_unavailable':
        return { title: t`The server is busy`, advice: t`Nothing has changed. Try again in a moment.` };
      case 'idempotency_secret_shown':
        return {
          title: t`The key was made, but its secret was lost on the way`,
          advice: t`Find the key in the list and give it a new secret.`,
        };
      default:
        return { title: t`That did not work`, advice: t`Try again. If it stays so, tell support the number below.` };
    }
  };
}

function waitWords({ retryAfterSeconds = SECONDS_OF_MINUTE }: ApiProblem): string {
  if (retryAfterSeconds < SECONDS_OF_MINUTE)
    return plural(retryAfterSeconds, { one: 'Try again in # second.', other: 'Try again in # seconds.' });
  const minutes = Math.ceil(retryAfterSeconds / SECONDS_OF_MINUTE);
  return plural(minutes, { one: 'Try again in # minute.', other: 'Try again in # minutes.' });
}

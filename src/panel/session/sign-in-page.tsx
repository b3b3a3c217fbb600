/**
 * Sign-in page, which the panel shows while nobody is signed in. After a failed sign-in at a provider, the page shows
 * the reason.
 */
import { Alert, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Frame } from './frame.js';
import { SignInForm } from './sign-in-form.js';

/** Value of `problem` in the URL after a sign-in at a provider with an identity that is not linked to a member. */
const UNKNOWN = 'identity_unknown';

export function SignInPage() {
  const { t } = useLingui();
  const problem = new URLSearchParams(location.search).get('problem');
  return (
    <Frame title={t`Sign in`} about={t`Manage your API keys, usage and logs.`}>
      {problem !== null && (
        <Alert color="red" variant="light" role="alert" title={t`You're not signed in`}>
          <Text size="sm">
            {problem === UNKNOWN ? (
              <Trans>This sign-in isn't linked to a member. Ask an owner of the account to invite you.</Trans>
            ) : (
              <Trans>The identity provider rejected the sign-in. Try again, or use another method.</Trans>
            )}
          </Text>
        </Alert>
      )}
      <SignInForm />
    </Frame>
  );
}

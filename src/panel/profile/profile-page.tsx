/**
 * Page with the settings of the signed-in member: profile, sign-in methods and sessions. These settings do not depend
 * on an account.
 */
import { Alert, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useSearchParams } from 'wouter';
import { Page } from '../layout/page.js';
import { Address } from './address.js';
import { Identities } from './identities.js';
import { Passkeys } from './passkeys.js';
import { Password } from './password.js';
import { Personal } from './personal.js';
import { SecondFactor } from './second-factor.js';
import { OwnSessions } from './own-sessions.js';

export function ProfilePage() {
  const { t } = useLingui();
  const [parameters] = useSearchParams();
  const problem = parameters.get('problem');
  return (
    <Page title={t`Your profile`} description={<Trans>Your profile, sign-in methods and sessions.</Trans>}>
      {problem !== null && (
        <Alert color="red" variant="light" role="alert" title={t`The sign-in was not added`}>
          <Text size="sm">
            {problem === 'conflict' ? (
              <Trans>Another member already uses it.</Trans>
            ) : (
              <Trans>The identity provider rejected the sign-in. Try again, or use another method.</Trans>
            )}
          </Text>
        </Alert>
      )}
      <Personal />
      <Address />
      <Password />
      <SecondFactor />
      <Passkeys />
      <Identities />
      <OwnSessions />
    </Page>
  );
}

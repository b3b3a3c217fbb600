/**
 * Dialog that opens over the page while requests wait at the gate. The user signs in again or confirms their identity.
 * Closing the dialog ends the requests with their errors.
 */
import { Button, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useSyncExternalStore } from 'react';
import { currentGate, onGate, type OpenGate } from '../api/gate.js';
import { Dialog } from '../layout/dialog.js';
import { ConfirmForm } from './confirm-form.js';
import { SignInForm } from './sign-in-form.js';
import { useMe, useSession } from './session.js';

export function GateDialog() {
  const { t } = useLingui();
  // `useMe` would throw here. After sign-out, this component can render once more without a user before it unmounts.
  const portal = useSession().data?.portal ?? null;
  const gate = useSyncExternalStore(onGate, currentGate);
  const isSignIn = gate?.kind === 'sign_in';
  return (
    <Dialog
      opened={gate !== null}
      onClose={() => gate?.settle(false)}
      title={isSignIn ? (portal === null ? t`Sign in again` : t`You are signed out`) : t`Confirm it's you`}
      zIndex={400}
    >
      {gate !== null && (isSignIn ? <SignInAgain gate={gate} /> : <ConfirmForm gate={gate} />)}
    </Dialog>
  );
}

/**
 * SignInAgain shows the sign-in form. Portal users cannot sign in here, so they get a link to the site from which they
 * came.
 */
function SignInAgain({ gate }: { readonly gate: OpenGate }) {
  const { member, portal } = useMe();
  if (portal !== null)
    return (
      <Stack gap="md">
        <Text>
          <Trans>
            Your session expired. Go back to the site you came from to sign in again. Unsaved changes are lost.
          </Trans>
        </Text>
        <Group justify="flex-end">
          <Button component="a" href={portal.return_url} data-autofocus>
            <Trans>Back to the previous site</Trans>
          </Button>
        </Group>
      </Stack>
    );
  return (
    <Stack gap="md">
      <Text>
        <Trans>Your session expired. Sign in to continue; your changes are safe.</Trans>
      </Text>
      <SignInForm email={member?.email} onDone={() => gate.settle(true)} />
    </Stack>
  );
}

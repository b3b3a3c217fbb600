/** Opens over a page whose request waits: signing in anew, or showing once more that it is the same person. */
import { Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useSyncExternalStore } from 'react';
import { currentGate, onGate, type OpenGate } from '../api/gate.js';
import { Dialog } from '../layout/dialog.js';
import { ConfirmForm } from './confirm-form.js';
import { SignInForm } from './sign-in-form.js';
import { useMe } from './session.js';

export function GateDialog() {
  const { t } = useLingui();
  const gate = useSyncExternalStore(onGate, currentGate);
  const isSignIn = gate?.kind === 'sign_in';
  return (
    <Dialog
      opened={gate !== null}
      onClose={() => gate?.settle(false)}
      title={isSignIn ? t`Sign in again` : t`Is it you?`}
      zIndex={400}
    >
      {gate !== null && (isSignIn ? <Again gate={gate} /> : <ConfirmForm gate={gate} />)}
    </Dialog>
  );
}

function Again({ gate }: { readonly gate: OpenGate }) {
  const { member } = useMe();
  return (
    <Stack gap="md">
      <Text>
        <Trans>Your session has ended. What you typed is still there, and goes on when you have signed in.</Trans>
      </Text>
      <SignInForm email={member?.email} onDone={() => gate.settle(true)} />
    </Stack>
  );
}

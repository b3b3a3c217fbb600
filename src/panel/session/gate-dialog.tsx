/** Opens over a page whose request waits: signing in anew, or showing once more that it is the same person. */
import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState, useSyncExternalStore } from 'react';
import { api, ask } from '../api/client.js';
import { currentGate, onGate, type OpenGate } from '../api/gate.js';
import { Dialog } from '../layout/dialog.js';
import { Failure } from '../words/failure.js';
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
      {gate !== null && (isSignIn ? <Again gate={gate} /> : <Confirm gate={gate} />)}
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

function Confirm({ gate }: { readonly gate: OpenGate }) {
  const { t } = useLingui();
  const { member } = useMe();
  const byCode = !gate.ways.includes('password') && gate.ways.includes('totp');
  const [value, setValue] = useState('');
  const confirm = useMutation({
    gcTime: 0,
    mutationFn: () =>
      ask(
        api.POST('/admin/v1/confirmations', {
          body: byCode ? { code: value.replaceAll(/\s/g, '') } : { password: value },
        }),
      ),
    onSuccess: () => gate.settle(true),
    onError: () => setValue(''),
  });
  const common = {
    required: true,
    withAsterisk: false,
    'data-autofocus': true,
    value,
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => setValue(event.currentTarget.value),
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      <Stack gap="md">
        <Text>
          <Trans>
            What you are about to do gives access. Show that it is you; for ten minutes you will not be asked again.
          </Trans>
        </Text>
        <input type="text" hidden readOnly autoComplete="username" value={member?.email ?? ''} />
        {byCode ? (
          <TextInput
            {...common}
            label={t`Code from your authenticator app`}
            inputMode="numeric"
            autoComplete="one-time-code"
          />
        ) : (
          <PasswordInput
            {...common}
            label={t`Password`}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
          />
        )}
        {confirm.error !== null && <Failure error={confirm.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => gate.settle(false)}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={confirm.isPending}>
            <Trans>Go on</Trans>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

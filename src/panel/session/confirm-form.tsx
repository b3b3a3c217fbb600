/**
 * Content of the gate dialog that confirms the member's identity before a sensitive change. It offers the methods that
 * the API names: password with or without code, passkey, or identity provider.
 */
import { Alert, Button, Divider, Group, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, unwrap } from '../api/client.js';
import type { OpenGate } from '../api/gate.js';
import { Form } from '../layout/form.js';
import { FormPassword, FormText } from '../layout/form-fields.js';
import { Failure } from '../words/failure.js';
import { ProviderConfirm } from './provider-confirm.js';
import { PasskeyButton } from './passkey-button.js';
import { supportsPasskeys, showPasskey } from '../api/passkey.js';
import { signOut, useMe } from './session.js';

export function ConfirmForm({ gate }: { readonly gate: OpenGate }) {
  const { t } = useLingui();
  const byPasskey = gate.methods.includes('passkey') && supportsPasskeys();
  const needsCode = gate.methods.includes('password_and_code');
  const byPassword = needsCode || gate.methods.includes('password');
  const byProvider = gate.methods.includes('oidc');
  const hasNoMethod = !byPasskey && !byProvider && !byPassword;
  return (
    <Stack gap="md">
      <Text>
        <Trans>This is a sensitive action. We won't ask again for 10 minutes.</Trans>
      </Text>
      {byPassword && <PasswordForm needsCode={needsCode} gate={gate} />}
      {byPassword && byPasskey && <Divider label={<Trans>or</Trans>} />}
      {byPasskey && (
        <PasskeyButton label={t`Use a passkey`} show={confirmByPasskey} onShown={() => gate.settle(true)} />
      )}
      {byProvider && <ProviderConfirm onConfirmed={() => gate.settle(true)} />}
      {hasNoMethod && <SignInAgain gate={gate} />}
    </Stack>
  );
}

async function confirmByPasskey(): Promise<void> {
  const passkey = await showPasskey(await unwrap(api.POST('/admin/v1/confirmations/passkey/options')));
  await unwrap(api.POST('/admin/v1/confirmations', { body: { passkey } }));
}

interface PasswordFormProps {
  /** Whether a code from the authenticator app is required with the password. */
  readonly needsCode: boolean;
  readonly gate: OpenGate;
}

function PasswordForm({ needsCode, gate }: PasswordFormProps) {
  const { t } = useLingui();
  const { member } = useMe();
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const confirm = useMutation({
    gcTime: 0,
    mutationFn: () => {
      const body = { password, ...(needsCode ? { code: code.replaceAll(/\s/g, '') } : {}) };
      return unwrap(api.POST('/admin/v1/confirmations', { body }));
    },
    onSuccess: () => gate.settle(true),
    onError: () => {
      // A code works only once, so clear it. If a code was required, the password may have been correct.
      setCode('');
      if (!needsCode) setPassword('');
    },
  });
  return (
    <Form
      error={confirm.error}
      checks={{
        password: password === '' && t`Fill this in.`,
        code: needsCode && code.trim() === '' && t`Fill this in.`,
      }}
      onSubmit={() => confirm.mutate()}
      footer={
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={() => gate.settle(false)}>
            <Trans>Cancel</Trans>
          </Button>
          <Button type="submit" loading={confirm.isPending}>
            <Trans>Continue</Trans>
          </Button>
        </Group>
      }
    >
      <input type="text" hidden readOnly autoComplete="username" value={member?.email ?? ''} />
      <FormPassword
        field="password"
        label={t`Password`}
        required
        withAsterisk={false}
        data-autofocus
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {needsCode && (
        <FormText
          field="code"
          label={t`Code from your authenticator app`}
          required
          withAsterisk={false}
          inputMode="numeric"
          autoComplete="one-time-code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
      )}
    </Form>
  );
}

/**
 * SignInAgain appears if no confirmation method works in this browser. A new sign-in counts as confirmation, so the
 * member can sign out and sign in again.
 */
function SignInAgain({ gate }: { readonly gate: OpenGate }) {
  const { t } = useLingui();
  const leave = useMutation({ mutationFn: signOut, onSuccess: () => gate.settle(false) });
  return (
    <>
      <Alert color="orange" variant="light" title={t`You can't confirm with this browser`}>
        <Stack gap="xs">
          <Text size="sm">
            <Trans>Sign out and sign in again. We won't ask for 10 minutes after that. Unsaved changes are lost.</Trans>
          </Text>
          <Text size="sm">
            <Trans>If you signed in with a link, ask for a new one. Open it and set a password in your profile.</Trans>
          </Text>
        </Stack>
      </Alert>
      {leave.error !== null && <Failure error={leave.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={() => gate.settle(false)} data-autofocus>
          <Trans>Cancel</Trans>
        </Button>
        <Button loading={leave.isPending} onClick={() => leave.mutate()}>
          <Trans>Sign out</Trans>
        </Button>
      </Group>
    </>
  );
}

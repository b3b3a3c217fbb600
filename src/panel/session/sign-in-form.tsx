/**
 * Sign-in form with all methods that the installation offers: password, passkey and identity providers. The sign-in
 * page, the link page and the gate dialog use the form.
 */
import { Button, Divider, Stack, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, unwrap } from '../api/client.js';
import type { SignIn } from '../api/schemas.js';
import { Form } from '../layout/form.js';
import { FormPassword, FormText } from '../layout/form-fields.js';
import { Failure } from '../words/failure.js';
import { PasskeyButton } from './passkey-button.js';
import { SecondFactorForm } from './second-factor-form.js';
import { supportsPasskeys, showPasskey } from '../api/passkey.js';
import { ASK_AGAIN_MS, openProvider, WindowState } from './provider-confirm.js';
import { refetchMe, signedIn } from './session.js';
import { useSignInMethods } from './sign-in-methods.js';

interface SignInFormProps {
  /** Email address that prefills the form. */
  readonly email?: string | undefined;
  /**
   * Called after a sign-in with a password or passkey. With this function, providers open in a separate window, so that
   * the user does not leave the page.
   */
  readonly onDone?: () => void;
}

export function SignInForm({ email: initialEmail = '', onDone }: SignInFormProps) {
  const { t } = useLingui();
  const [needsSecondFactor, setNeedsSecondFactor] = useState(false);
  const applySignIn = (signIn: SignIn): void => {
    if (signIn.me === undefined) return setNeedsSecondFactor(true);
    signedIn(signIn.me);
    onDone?.();
  };
  const methods = useSignInMethods();
  if (needsSecondFactor) return <SecondFactorForm onSignIn={applySignIn} onBack={() => setNeedsSecondFactor(false)} />;
  const { password = true, passkey = false, providers = [], mail = false } = methods.data ?? {};
  const hasPasskeys = passkey && supportsPasskeys();
  return (
    <Stack gap="md">
      {methods.error !== null && <Failure error={methods.error} again={() => void methods.refetch()} />}
      {password && <Password initialEmail={initialEmail} canReset={mail} onSignIn={applySignIn} />}
      {password && (hasPasskeys || providers.length > 0) && <Divider label={<Trans>or</Trans>} />}
      {hasPasskeys && <PasskeyButton label={t`Sign in with a passkey`} show={byPasskey} onShown={applySignIn} />}
      {providers.map(({ id, label }) =>
        onDone === undefined ? (
          <ProviderButton key={id} id={id} label={label} />
        ) : (
          <ProviderWindow key={id} id={id} label={label} />
        ),
      )}
    </Stack>
  );
}

async function byPasskey(): Promise<SignIn> {
  const response = await showPasskey(await unwrap(api.POST('/admin/v1/sign-in/passkey/options')));
  return await unwrap(api.POST('/admin/v1/sign-in/passkey', { body: { response } }));
}

interface PasswordProps {
  readonly initialEmail: string;
  readonly canReset: boolean;
  readonly onSignIn: (signIn: SignIn) => void;
}

function Password({ initialEmail, canReset, onSignIn }: PasswordProps) {
  const { t } = useLingui();
  const [email, setEmail] = useState(initialEmail);
  const [password, setPassword] = useState('');
  const enter = useMutation({
    gcTime: 0,
    mutationFn: () => unwrap(api.POST('/admin/v1/sign-in/password', { body: { email: email.trim(), password } })),
    onSuccess: onSignIn,
    onError: () => setPassword(''),
  });
  return (
    <Form
      error={enter.error}
      checks={{
        email: email.trim() === '' && t`Fill this in.`,
        password: password === '' && t`Fill this in.`,
      }}
      onSubmit={() => enter.mutate()}
      footer={
        <>
          <Button type="submit" size="md" loading={enter.isPending}>
            <Trans>Sign in</Trans>
          </Button>
          {canReset ? <ForgotPassword email={email} /> : <ResetHelp />}
        </>
      }
    >
      <FormText
        field="email"
        label={t`Email`}
        type="email"
        name="email"
        autoComplete="username"
        required
        withAsterisk={false}
        data-autofocus={initialEmail === '' || undefined}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <FormPassword
        field="password"
        label={t`Password`}
        name="password"
        autoComplete="current-password"
        required
        withAsterisk={false}
        data-autofocus={initialEmail !== '' || undefined}
        visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </Form>
  );
}

/**
 * ResetHelp helps with a forgotten password if the installation cannot send email. An operator creates a reset link.
 * Without any operator, a restart prints a new sign-in link.
 */
function ResetHelp() {
  const { data } = useSignInMethods();
  if (data === undefined) return null;
  return (
    <Text size="sm" c="dimmed">
      {data.first_owner ? (
        <Trans>No password? If you run this program, restart it. It prints a new sign-in link.</Trans>
      ) : (
        <Trans>Forgot your password? Ask an operator of this installation for a link to reset it.</Trans>
      )}
    </Text>
  );
}

function ForgotPassword({ email }: { readonly email: string }) {
  const reset = useMutation({
    mutationFn: () => unwrap(api.POST('/admin/v1/password-resets', { body: { email: email.trim() } })),
  });
  if (reset.isSuccess)
    return (
      <Text size="sm" role="status">
        <Trans>If a member has this address, we sent them an email with a link.</Trans>
      </Text>
    );
  return (
    <>
      {reset.error !== null && <Failure error={reset.error} />}
      <Button variant="subtle" size="sm" disabled={email.trim() === ''} onClick={() => reset.mutate()}>
        <Trans>Forgot your password?</Trans>
      </Button>
    </>
  );
}

/**
 * ProviderButton leaves the page to sign in at a provider. The browser returns to the same page, or from the sign-in
 * page to the start page. A failure leads to the sign-in page.
 */
function ProviderButton({ id, label }: { readonly id: string; readonly label: string }) {
  const begin = useMutation({
    mutationFn: async () => {
      const returnTo = location.pathname + location.search;
      const { url } = await unwrap(
        api.POST('/admin/v1/sign-in/providers/{provider}', {
          params: { path: { provider: id } },
          body: { return_to: returnTo.startsWith('/sign-in') ? '/' : returnTo },
        }),
      );
      location.assign(url);
    },
  });
  return (
    <>
      <Button variant="default" size="md" loading={begin.isPending} onClick={() => begin.mutate()}>
        <Trans>Sign in with {label}</Trans>
      </Button>
      {begin.error !== null && <Failure error={begin.error} />}
    </>
  );
}

/** ProviderWindow signs in at a provider in a separate window, so that form values on this page are not lost. */
function ProviderWindow({ id, label }: { readonly id: string; readonly label: string }) {
  const begin = useMutation({ gcTime: 0, mutationFn: () => openProvider(id, 'sign_in') });
  const isOpen = begin.data === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    // Poll for the new session, with which the waiting requests are sent again. If another user signed in, the page
    // reloads.
    const timer = setInterval(() => void refetchMe(), ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isOpen]);
  return (
    <>
      <Button variant="default" size="md" loading={begin.isPending} onClick={() => begin.mutate()}>
        <Trans>Sign in with {label}</Trans>
      </Button>
      <WindowState isOpen={begin.data} />
      {begin.error !== null && <Failure error={begin.error} />}
    </>
  );
}

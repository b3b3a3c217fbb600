/** Sign-in form with all available methods, for the sign-in page and the gate dialog. */
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
import { knowsPasskeys, showPasskey } from '../api/passkey.js';
import { ASK_AGAIN_MS, openProvider, WindowState } from './provider-confirm.js';
import { readMeAgain, signedIn } from './session.js';
import { useSignInMethods } from './sign-in-methods.js';

interface SignInFormProps {
  /** Address of the user who was just signed in. */
  readonly email?: string | undefined;
  /** Set if the form is in a dialog over a page that stays. */
  readonly onDone?: () => void;
}

export function SignInForm({ email: known = '', onDone }: SignInFormProps) {
  const { t } = useLingui();
  const [isHalf, setHalf] = useState(false);
  const take = (signIn: SignIn): void => {
    if (signIn.me === undefined) return setHalf(true);
    signedIn(signIn.me);
    onDone?.();
  };
  const ways = useSignInMethods();
  if (isHalf) return <SecondFactorForm onSignIn={take} onBack={() => setHalf(false)} />;
  const { password = true, passkey = false, providers = [], mail = false } = ways.data ?? {};
  const hasPasskeys = passkey && knowsPasskeys();
  return (
    <Stack gap="md">
      {ways.error !== null && <Failure error={ways.error} again={() => void ways.refetch()} />}
      {password && <Password known={known} canReset={mail} onSignIn={take} />}
      {password && (hasPasskeys || providers.length > 0) && <Divider label={<Trans>or</Trans>} />}
      {hasPasskeys && <PasskeyButton label={t`Sign in with a passkey`} show={byPasskey} onShown={take} />}
      {providers.map(({ id, label }) =>
        onDone === undefined ? (
          <Provider key={id} id={id} label={label} />
        ) : (
          <ProviderBeside key={id} id={id} label={label} />
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
  readonly known: string;
  readonly canReset: boolean;
  readonly onSignIn: (signIn: SignIn) => void;
}

function Password({ known, canReset, onSignIn }: PasswordProps) {
  const { t } = useLingui();
  const [email, setEmail] = useState(known);
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
          {canReset ? <Forgotten email={email} /> : <WithoutMail />}
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
        data-autofocus={known === '' || undefined}
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
        data-autofocus={known !== '' || undefined}
        visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </Form>
  );
}

/** Without email, an operator creates the reset link. */
function WithoutMail() {
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

function Forgotten({ email }: { readonly email: string }) {
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

function Provider({ id, label }: { readonly id: string; readonly label: string }) {
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

/** Signs in in a separate window, so that form values on the page stay. */
function ProviderBeside({ id, label }: { readonly id: string; readonly label: string }) {
  const begin = useMutation({ gcTime: 0, mutationFn: () => openProvider(id, 'sign_in') });
  const isOpen = begin.data === true;
  useEffect(() => {
    if (!isOpen) return undefined;
    // Reads the session of the new sign-in, which releases waiting requests. For another user, the page reloads.
    const timer = setInterval(() => void readMeAgain(), ASK_AGAIN_MS);
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

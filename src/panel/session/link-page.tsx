/**
 * Where a link for one use leads: `/link#<token>`. The token stands behind the `#`, which no server, log or Referer
 * sees, and leaves the address as soon as it was read. Nothing is used up before a button is pressed.
 */
import { Button, PasswordInput, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { api, ask } from '../api/client.js';
import type { Link, SignIn } from '../api/schemas.js';
import { Failure } from '../words/failure.js';
import { isolated } from '../words/isolated.js';
import { Frame } from './frame.js';
import { LinkFactors } from './link-factors.js';
import { signedIn, useSession } from './session.js';
import { ProviderJoin } from './provider-join.js';
import { SecondFactorForm } from './second-factor-form.js';
import { SignInForm } from './sign-in-form.js';

let kept = '';

/** The token of the address, which then no longer has it. */
function takeToken(): string {
  const token = location.hash.slice(1);
  if (token !== '') {
    kept = token;
    history.replaceState(history.state, '', location.pathname);
  }
  return kept;
}

export function LinkPage() {
  const { t } = useLingui();
  const [token] = useState(takeToken);
  const link = useQuery({
    queryKey: ['link'],
    gcTime: 0,
    queryFn: () => ask(api.POST('/admin/v1/links/read', { body: { token } })),
    enabled: token !== '',
  });
  if (token === '' || link.error !== null)
    return (
      <Frame title={t`This link does not work`}>
        {link.error === null ? (
          <Text>
            <Trans>A part of it is missing. Copy it whole, or ask for a new one.</Trans>
          </Text>
        ) : (
          <Failure error={link.error} again={() => void link.refetch()} />
        )}
      </Frame>
    );
  if (link.data === undefined)
    return (
      <Frame title={t`One moment`}>
        <Skeleton h={120} />
      </Frame>
    );
  return <TakeLink token={token} link={link.data} />;
}

function useWords(link: Link): { readonly title: string; readonly about: string; readonly button: string } {
  const { t } = useLingui();
  const account = isolated(link.account_name ?? '');
  switch (link.kind) {
    case 'invitation':
      return {
        title: t`Join ${account}`,
        about: t`You have been invited to the settings of ${account}.`,
        button: t`Join`,
      };
    case 'password_reset':
      return {
        title: t`Choose a new password`,
        about: t`The old one ends, and so do your other sessions.`,
        button: t`Save and sign in`,
      };
    case 'first_owner':
      return {
        title: t`Welcome`,
        about: t`You are the first here: this makes you the operator of this installation.`,
        button: t`Begin`,
      };
    case 'start':
      return {
        title: t`Welcome to Trailgate`,
        about: t`This signs you in to the example account. Everything in it is yours to try.`,
        button: t`Open the panel`,
      };
    case 'portal':
      return {
        title: t`Settings of ${account}`,
        about: t`You come from a place where you are signed in already.`,
        button: t`Go on`,
      };
  }
}

/** The least that is taken without a second factor (NIST SP 800-63B-4). */
const SHORTEST_PASSWORD = 15;

function TakeLink({ token, link }: { readonly token: string; readonly link: Link }) {
  const { t, i18n } = useLingui();
  const [, go] = useLocation();
  const session = useSession();
  const { title, about, button } = useWords(link);
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const needsPassword = link.ways.includes('password');
  const byProvider = link.ways.includes('provider');
  // Where passwords are turned off, the name alone.
  const isNew = link.kind === 'first_owner' || (link.kind === 'invitation' && !link.ways.includes('sign_in'));
  const needsName = isNew && (needsPassword || !byProvider);
  const mustSignIn = link.ways.includes('sign_in') && (session.data?.member?.email ?? null) !== link.email;
  const [isHalf, setHalf] = useState(false);
  const enter = (signIn: SignIn): void => {
    kept = '';
    if (signIn.me === undefined) return setHalf(true);
    signedIn(signIn.me);
    go('/', { replace: true });
  };
  // A second press of a double click arrives before the button shows that it waits.
  const isSent = useRef(false);
  const take = useMutation({
    gcTime: 0,
    mutationFn: () =>
      ask(
        api.POST('/admin/v1/links/take', {
          body: {
            token,
            locale: i18n.locale === 'es' ? 'es' : 'en',
            ...(needsName ? { name: name.trim() } : {}),
            ...(link.kind === 'first_owner' ? { email: email.trim() } : {}),
            ...(needsPassword ? { password } : {}),
          },
        }),
      ),
    onSuccess: enter,
    onError: () => {
      isSent.current = false;
    },
  });
  if (isHalf)
    return (
      <Frame title={title} about={<Trans>Your new password is saved. Your app is asked for as ever.</Trans>}>
        <SecondFactorForm onSignIn={enter} onBack={() => go('/sign-in', { replace: true })} />
      </Frame>
    );
  if (mustSignIn)
    return (
      <Frame title={title} about={about}>
        <Text>
          <Trans>You have a sign-in already. Sign in with it first.</Trans>
        </Text>
        <SignInForm email={link.email ?? undefined} />
      </Frame>
    );
  if (byProvider && !needsPassword)
    return (
      <Frame title={title} about={about}>
        <ProviderJoin token={token} />
      </Frame>
    );
  return (
    <Frame title={title} about={about}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isSent.current) return;
          isSent.current = true;
          take.mutate();
        }}
      >
        <Stack gap="md">
          {link.kind === 'first_owner' && (
            <TextInput
              label={t`Email`}
              type="email"
              autoComplete="username"
              required
              withAsterisk={false}
              autoFocus
              value={email}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
          )}
          <LinkFactors factors={link.factors} />
          {link.email !== null && needsPassword && (
            <TextInput label={t`Email`} value={link.email} readOnly autoComplete="username" />
          )}
          {needsName && (
            <TextInput
              label={t`Your name`}
              autoComplete="name"
              required
              withAsterisk={false}
              autoFocus={link.kind !== 'first_owner'}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          {needsPassword && (
            <PasswordInput
              label={t`Password`}
              description={t`At least ${SHORTEST_PASSWORD} characters: a few words that only you would put together.`}
              autoComplete="new-password"
              minLength={SHORTEST_PASSWORD}
              required
              withAsterisk={false}
              visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
          )}
          {take.error !== null && <Failure error={take.error} />}
          <Button type="submit" size="md" loading={take.isPending} data-autofocus={!needsName || undefined}>
            {button}
          </Button>
          {byProvider && <ProviderJoin token={token} />}
        </Stack>
      </form>
    </Frame>
  );
}

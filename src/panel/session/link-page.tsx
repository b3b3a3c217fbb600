/**
 * Page for single-use links, such as invitations and password resets: `/link#<token>`. The token is in the fragment,
 * which browsers do not send to servers. The page immediately removes the fragment from the URL. Opening the page does
 * not use up the link. Only pressing a button does.
 */
import { Alert, Button, Skeleton, Text, TextInput } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Link as HomeLink, useLocation } from 'wouter';
import { api, unwrap } from '../api/client.js';
import { hasCode } from '../api/problem.js';
import type { Link, SignIn } from '../api/schemas.js';
import { Form } from '../layout/form.js';
import { FormPassword, FormText } from '../layout/form-fields.js';
import { Failure } from '../words/failure.js';
import { isolateName } from '../words/isolated.js';
import { Frame } from './frame.js';
import { LinkFactors } from './link-factors.js';
import { signedIn, useSession } from './session.js';
import { ProviderJoin } from './provider-join.js';
import { SecondFactorForm } from './second-factor-form.js';
import { SignInForm } from './sign-in-form.js';

/**
 * Token of the link, which the page needs after removing the token from the URL. Empty if there is none, or if the link
 * was used.
 */
let keptToken = '';

/** Returns the token of the link and removes the token from the URL. Empty if there is no token. */
function readTokenOnce(): string {
  const token = location.hash.slice(1);
  if (token !== '') {
    keptToken = token;
    history.replaceState(history.state, '', location.pathname);
  }
  return keptToken;
}

export function LinkPage() {
  const { t } = useLingui();
  const [token] = useState(readTokenOnce);
  const link = useQuery({
    queryKey: ['link'],
    gcTime: 0,
    queryFn: () => unwrap(api.POST('/admin/v1/links/read', { body: { token } })),
    enabled: token !== '',
  });
  if (token === '' || link.error !== null)
    return (
      <Frame title={t`This link does not work`}>
        {link.error === null ? (
          <Text>
            <Trans>Part of the link is missing. Copy the whole link, or ask for a new one.</Trans>
          </Text>
        ) : (
          <Failure
            error={link.error}
            again={hasCode(link.error, 'link_ended') ? undefined : () => void link.refetch()}
          />
        )}
        <SignInLink />
      </Frame>
    );
  if (link.data === undefined)
    return (
      <Frame title={t`One moment`}>
        <Skeleton h={120} />
      </Frame>
    );
  return <AcceptLink token={token} link={link.data} />;
}

/**
 * SignInLink is the button on the page of an invalid link. It leads to sign-in, or to the dashboard if a member is
 * signed in.
 */
function SignInLink() {
  const isSignedIn = useSession().data?.member != null;
  return (
    <Button component={HomeLink} href="/" variant="default">
      {isSignedIn ? <Trans>Continue to dashboard</Trans> : <Trans>Go to sign-in</Trans>}
    </Button>
  );
}

/** Returns the texts of the page for the kind of the link. */
function useLinkText(link: Link): { readonly title: string; readonly about: string; readonly button: string } {
  const { t } = useLingui();
  const account = isolateName(link.account_name ?? '');
  const email = isolateName(link.email ?? '');
  switch (link.kind) {
    case 'invitation':
      return {
        title: t`Join ${account}`,
        about: t`You've been invited to join ${account}.`,
        button: t`Join`,
      };
    case 'password_reset':
      return {
        title: t`Choose a new password`,
        about: t`Your current password stops working, and your other sessions end.`,
        button: t`Save and sign in`,
      };
    case 'email_verification':
      return {
        title: t`Verify your address`,
        about: t`This verifies that ${email} is your address.`,
        button: t`Verify address`,
      };
    case 'first_owner':
      return {
        title: t`Welcome`,
        about: t`You are the first member. You become the operator of this installation.`,
        button: t`Continue`,
      };
    case 'start':
      return {
        title: t`Welcome to Trailgate`,
        about: t`You're about to sign in to the demo account.`,
        button: t`Continue to dashboard`,
      };
    case 'portal':
      return {
        title: t`Settings of ${account}`,
        about: t`Continue to ${account}'s API settings.`,
        button: t`Continue`,
      };
  }
}

/**
 * Person who accepts the link: the signed-in `member`, a `new` member, or an existing member who must `sign_in` first.
 */
type Accepter = 'member' | 'new' | 'sign_in';

/** Minimum length of a password without a second factor, in characters (NIST SP 800-63B-4). */
const SHORTEST_PASSWORD = 15;

/**
 * AcceptLink is the form that uses a valid link. Its fields depend on the kind of the link and on the signed-in member.
 */
function AcceptLink({ token, link }: { readonly token: string; readonly link: Link }) {
  const { t, i18n } = useLingui();
  const [, go] = useLocation();
  const session = useSession();
  const { title, about, button } = useLinkText(link);
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const member = session.data?.member ?? null;
  const isInvitation = link.kind === 'invitation';
  const isVerification = link.kind === 'email_verification';
  const canBeNew = link.ways.some((way) => way !== 'sign_in');
  // Some links work only for the member with the email address of the link. If another member is signed in, the right
  // member must sign in first.
  const mayAccept = member !== null && (canBeNew || member.email === link.email);
  const [chosen, choose] = useState<Accepter | null>(null);
  // Set after the API rejected the link, because its email address belongs to a member who is not signed in. `memberId`
  // is the member who was signed in at that time, or null.
  const [refused, setRefused] = useState<{ readonly memberId: string | null } | null>(null);
  const isRefused = refused !== null && refused.memberId === (member?.id ?? null);
  const hasSignedIn = chosen === 'sign_in' && mayAccept && !isRefused;
  const accepter = (hasSignedIn ? null : chosen) ?? (mayAccept ? 'member' : canBeNew ? 'new' : 'sign_in');
  const isNew = link.kind === 'first_owner' || (isInvitation && accepter === 'new');
  const needsPassword = link.ways.includes('password') && (!isInvitation || isNew);
  const byProvider = link.ways.includes('provider') && isNew;
  // If new members need neither a password nor a provider, the form asks only for the name.
  const needsName = isNew && (needsPassword || !byProvider);
  const [needsSecondFactor, setNeedsSecondFactor] = useState(false);
  const applySignIn = (signIn: SignIn): void => {
    keptToken = '';
    if (signIn.me === undefined) return setNeedsSecondFactor(true);
    signedIn(signIn.me);
    go(isVerification ? '/profile' : '/', { replace: true });
  };
  // The link works only once, and the second click of a double click can arrive before the button is disabled.
  const isSent = useRef(false);
  const accept = useMutation({
    gcTime: 0,
    mutationFn: () =>
      unwrap(
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
    onSuccess: applySignIn,
    onError: (error) => {
      isSent.current = false;
      if (!hasCode(error, 'missing_credentials')) return;
      setRefused({ memberId: member?.id ?? null });
      choose('sign_in');
    },
  });
  if (needsSecondFactor)
    return (
      <Frame title={title} about={<Trans>Your new password is saved. Enter a code from your app to continue.</Trans>}>
        <SecondFactorForm onSignIn={applySignIn} onBack={() => go('/sign-in', { replace: true })} />
      </Frame>
    );
  const startAsNew = (): void => {
    accept.reset();
    setRefused(null);
    choose('new');
  };
  if ((isInvitation || isVerification) && accepter === 'sign_in')
    return (
      <Frame title={title} about={about}>
        {isVerification ? (
          <Text>
            <Trans>Sign in with this address first.</Trans>
          </Text>
        ) : !isRefused ? (
          <Text>
            <Trans>Sign in first, then join.</Trans>
          </Text>
        ) : (
          <Alert color="orange" variant="light" role="alert" title={t`This address already belongs to a member`}>
            <Text size="sm">
              <Trans>Sign in with it to join. If you can't, ask an operator for a password reset link.</Trans>
            </Text>
          </Alert>
        )}
        {/* `onDone` makes providers open in a separate window, so that this page keeps the token. */}
        <SignInForm email={link.email ?? undefined} onDone={() => accept.reset()} />
        {canBeNew && (
          <Button variant="subtle" size="sm" onClick={startAsNew}>
            <Trans>I'm new here</Trans>
          </Button>
        )}
      </Frame>
    );
  const otherChoice = isInvitation && canBeNew && (
    <Button
      variant="subtle"
      size="sm"
      onClick={() => {
        accept.reset();
        choose(accepter === 'member' ? 'new' : member === null ? 'sign_in' : 'member');
      }}
    >
      {accepter === 'member'
        ? t`Join as someone new`
        : member === null
          ? t`I'm already a member`
          : t`Join as ${member.email}`}
    </Button>
  );
  if (byProvider && !needsPassword)
    return (
      <Frame title={title} about={about}>
        <ProviderJoin token={token} />
        {otherChoice}
      </Frame>
    );
  return (
    <Frame title={title} about={about}>
      <Form
        error={accept.error}
        checks={{
          email: link.kind === 'first_owner' && email.trim() === '' && t`Fill this in.`,
          name: needsName && name.trim() === '' && t`Fill this in.`,
          password:
            needsPassword &&
            [...password].length < SHORTEST_PASSWORD &&
            t`Use at least ${SHORTEST_PASSWORD} characters.`,
        }}
        onSubmit={() => {
          if (isSent.current) return;
          isSent.current = true;
          accept.mutate();
        }}
        footer={
          <>
            <Button type="submit" size="md" loading={accept.isPending} data-autofocus={!needsName || undefined}>
              {button}
            </Button>
            {byProvider && <ProviderJoin token={token} />}
            {otherChoice}
          </>
        }
      >
        {link.kind === 'first_owner' && (
          <FormText
            field="email"
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
        {isInvitation && accepter === 'member' && member !== null && (
          <Text className="name">
            <Trans>
              You're signed in as <b>{member.email}</b> and join as this member.
            </Trans>
          </Text>
        )}
        <LinkFactors factors={link.factors} />
        {link.email !== null && needsPassword && (
          <TextInput label={t`Email`} value={link.email} readOnly autoComplete="username" />
        )}
        {needsName && (
          <FormText
            field="name"
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
          <FormPassword
            field="password"
            label={t`Password`}
            description={t`At least ${SHORTEST_PASSWORD} characters. Try several unrelated words.`}
            autoComplete="new-password"
            required
            withAsterisk={false}
            visibilityToggleButtonProps={{ 'aria-label': t`Show the password` }}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Form>
    </Frame>
  );
}

/**
 * Root component, which selects the page by URL and session. Paths of account pages start with an account ID, such as
 * `/acc_…/api-keys`. An unknown path without account ID redirects to the default account.
 */
import { Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { lazy, Suspense } from 'react';
import { Redirect, useLocation, useSearch } from 'wouter';
import { AccountPages } from './account-pages.js';
import { isOwnPath, OwnPages } from './own-pages.js';
import { useDefaultAccountId } from './session/accounts.js';
import { Frame } from './session/frame.js';
import { GateDialog } from './session/gate-dialog.js';
import { LinkPage } from './session/link-page.js';
import { CONFIRMED_PAGE, ConfirmedPage } from './session/provider-confirm.js';
import { useMe, useSession } from './session/session.js';
import { SignInPage } from './session/sign-in-page.js';
import { Empty } from './layout/empty.js';
import { Toasts } from './layout/toasts.js';
import { Waiting } from './routes/pages.js';
import { Shell } from './shell/shell.js';
import { ApiProblem } from './api/problem.js';
import { Failure } from './words/failure.js';

/**
 * ConsentPage is loaded on demand. The authorization server redirects browsers to this page at `/oauth/<request id>`.
 */
const ConsentPage = lazy(async () => ({ default: (await import('./oauth/consent-page.js')).ConsentPage }));

export function App() {
  const [location] = useLocation();
  const session = useSession();
  if (location === '/link') return <LinkPage />;
  if (location === CONFIRMED_PAGE) return <ConfirmedPage />;
  if (session.isPending) return <Waiting />;
  if (session.error !== null && session.data === undefined)
    return <Unavailable error={session.error} again={session.refetch} />;
  if (session.data === null || session.data === undefined) return <SignInPage />;
  return (
    <>
      <SignedIn />
      <GateDialog />
      <Toasts />
    </>
  );
}

function SignedIn() {
  const [location] = useLocation();
  const requestId = /^\/oauth\/([A-Za-z0-9_-]+)$/.exec(location)?.[1];
  if (requestId !== undefined)
    return (
      <Suspense fallback={<Waiting />}>
        <ConsentPage id={requestId} />
      </Suspense>
    );
  const id = /^\/(acc_[0-9a-z]+)(?:\/|$)/.exec(location)?.[1];
  if (id !== undefined) return <AccountPages key={id} id={id} />;
  return isOwnPath(location) ? <OwnPages /> : <RedirectToAccount />;
}

/**
 * Redirects to the same page of the default account. Without an account, operators are redirected to the list of all
 * accounts, and other users see an explanation.
 */
function RedirectToAccount() {
  const { t } = useLingui();
  const [location] = useLocation();
  const search = useSearch();
  const me = useMe();
  const id = useDefaultAccountId();
  if (id === undefined && me.member?.is_operator === true) return <Redirect to="/platform/accounts" replace />;
  if (id === undefined)
    return (
      <Shell account={null}>
        <Empty
          isPage
          icon="accounts"
          title={t`You don't have access to any accounts`}
          text={t`Ask an owner of an account to invite you.`}
        />
      </Shell>
    );
  const path = location === '/' || location === '/sign-in' ? '/api-keys' : location;
  return <Redirect to={`/${id}${path}${search === '' ? '' : `?${search}`}`} replace />;
}

/** Unavailable replaces the panel if the session could not be read. */
function Unavailable({ error, again }: { readonly error: unknown; readonly again: () => unknown }) {
  const { t } = useLingui();
  const isLimited = error instanceof ApiProblem && error.status === 429;
  return (
    <Frame title={isLimited ? t`Too many requests` : t`Can't reach Trailgate`}>
      <Text>
        {isLimited ? (
          <Trans>Nothing was lost. This page reloads by itself.</Trans>
        ) : (
          <Trans>Nothing was lost. Try again in a moment.</Trans>
        )}
      </Text>
      <Failure error={error} again={() => void again()} />
    </Frame>
  );
}

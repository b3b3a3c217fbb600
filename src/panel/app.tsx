/** Which page is shown at which address: `/acc_…/api-keys`. Without an account it is the last one's. */
import { Button, Center, Loader, Text } from '@mantine/core';
import { Trans, useLingui } from '@lingui/react/macro';
import { Suspense, type ComponentType, lazy, type ReactNode } from 'react';
import { Link, Redirect, Route, Switch, useLocation, useSearch } from 'wouter';
import type { OperationId } from '../members/permissions.js';
import { InAccount, lastAccountId, useAccountById, useMay } from './session/accounts.js';
import { Frame } from './session/frame.js';
import { GateDialog } from './session/gate-dialog.js';
import { LinkPage } from './session/link-page.js';
import { useMe, useSession } from './session/session.js';
import { SignInPage } from './session/sign-in-page.js';
import { Empty } from './layout/empty.js';
import { Shell } from './shell/shell.js';
import { Failure } from './words/failure.js';

/** A page in a file of its own, loaded when it is first gone to. */
const page = <Name extends string>(load: () => Promise<Record<Name, ComponentType>>, name: Name) =>
  lazy(async () => ({ default: (await load())[name] }));

const KeysPage = page(() => import('./api-keys/keys-page.js'), 'KeysPage');
const UsagePage = page(() => import('./usage/usage-page.js'), 'UsagePage');
const LogsPage = page(() => import('./logs/logs-page.js'), 'LogsPage');
const RequestPage = page(() => import('./logs/request-page.js'), 'RequestPage');
const ExplainPage = page(() => import('./explain/explain-page.js'), 'ExplainPage');
const AuditLogPage = page(() => import('./audit-log/audit-log-page.js'), 'AuditLogPage');
const AccountPage = page(() => import('./account/account-page.js'), 'AccountPage');
const MembersPage = page(() => import('./members/members-page.js'), 'MembersPage');
const KeyPage = page(() => import('./api-keys/key-page.js'), 'KeyPage');

export function App() {
  const [location] = useLocation();
  const session = useSession();
  if (location === '/link') return <LinkPage />;
  if (session.isPending) return <Waiting />;
  if (session.error !== null && session.data === undefined)
    return <Unavailable error={session.error} again={session.refetch} />;
  if (session.data === null || session.data === undefined) return <SignInPage />;
  return (
    <>
      <SignedIn />
      <GateDialog />
    </>
  );
}

function SignedIn() {
  const [location] = useLocation();
  const id = /^\/(acc_[0-9a-z]+)(?:\/|$)/.exec(location)?.[1];
  return id === undefined ? <ToAnAccount /> : <AccountPages key={id} id={id} />;
}

/** Goes on to the same page of an account. */
function ToAnAccount() {
  const { t } = useLingui();
  const { accounts, portal } = useMe();
  const [location] = useLocation();
  const search = useSearch();
  const last = lastAccountId();
  const id = portal?.account_id ?? accounts.find((each) => each.id === last)?.id ?? accounts[0]?.id;
  if (id === undefined)
    return (
      <Shell account={null}>
        <Empty
          isPage
          icon="accounts"
          title={t`You are in no account yet`}
          text={t`Ask an owner of an account to invite you.`}
        />
      </Shell>
    );
  const path = location === '/' || location === '/sign-in' ? '/api-keys' : location;
  return <Redirect to={`/${id}${path}${search === '' ? '' : `?${search}`}`} replace />;
}

function AccountPages({ id }: { readonly id: string }) {
  const account = useAccountById(id);
  if (account.data === undefined)
    return account.error === null ? (
      <Waiting />
    ) : (
      <Shell account={null}>
        <Failure error={account.error} again={() => void account.refetch()} />
      </Shell>
    );
  return (
    <InAccount account={account.data}>
      <Shell account={account.data}>
        <Suspense fallback={<Waiting />}>
          <Switch>
            <Route path="/:account">
              <Redirect to={`/${id}/api-keys`} replace />
            </Route>
            <Route path="/:account/api-keys/new">
              <Allowed to="listApiKeys">
                <KeysPage />
              </Allowed>
            </Route>
            <Route path="/:account/api-keys">
              <Allowed to="listApiKeys">
                <KeysPage />
              </Allowed>
            </Route>
            <Route path="/:account/api-keys/:key">
              <Allowed to="getApiKey">
                <KeyPage />
              </Allowed>
            </Route>
            <Route path="/:account/usage">
              <Allowed to="getUsage">
                <UsagePage />
              </Allowed>
            </Route>
            <Route path="/:account/logs">
              <Allowed to="listRequests">
                <LogsPage />
              </Allowed>
            </Route>
            <Route path="/:account/logs/:request">
              <Allowed to="getRequest">
                <RequestPage />
              </Allowed>
            </Route>
            <Route path="/:account/explain">
              <Allowed to="explain">
                <ExplainPage />
              </Allowed>
            </Route>
            <Route path="/:account/audit-log">
              <Allowed to="listAuditLog">
                <AuditLogPage />
              </Allowed>
            </Route>
            <Route path="/:account/account">
              <Allowed to="getAccount">
                <AccountPage />
              </Allowed>
            </Route>
            <Route path="/:account/members">
              <Allowed to="listAccountMembers">
                <MembersPage />
              </Allowed>
            </Route>
            <Route>
              <NoSuchPage home={`/${id}/api-keys`} />
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </InAccount>
  );
}

/** A page for those who may read what it shows; to the others it is none. */
function Allowed({ to, children }: { readonly to: OperationId; readonly children: ReactNode }) {
  const may = useMay();
  return may(to) ? children : <NoSuchPage home="/" />;
}

function NoSuchPage({ home }: { readonly home: string }) {
  const { t } = useLingui();
  return (
    <Empty
      isPage
      icon="search"
      title={t`There is no such page`}
      text={t`It may have moved, or your role does not open it.`}
      action={
        <Button component={Link} href={home}>
          <Trans>To the start</Trans>
        </Button>
      }
    />
  );
}

function Waiting() {
  const { t } = useLingui();
  return (
    <Center mih={240}>
      <Loader aria-label={t`Loading`} />
    </Center>
  );
}

function Unavailable({ error, again }: { readonly error: unknown; readonly again: () => unknown }) {
  const { t } = useLingui();
  return (
    <Frame title={t`Trailgate cannot be reached`}>
      <Text>
        <Trans>Nothing is lost. The page tries by itself as soon as you press the button.</Trans>
      </Text>
      <Failure error={error} again={() => void again()} />
    </Frame>
  );
}

/** Pages that are about no account: beside them stand the settings of the one that was looked at last. */
import { Suspense, type ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import type { OperationId } from '../members/permissions.js';
import { useAccountById, useHomeId } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { Allowed, lazyPage, NoSuchPage, Waiting } from './pages.js';

const ProfilePage = lazyPage(() => import('./profile/profile-page.js'), 'ProfilePage');

const PAGES: readonly (readonly [path: string, needs: OperationId, page: typeof ProfilePage])[] = [
  ['/profile', 'updateMe', ProfilePage],
];

/** Whether a path is one of these pages'. */
export const isOwnPath = (path: string): boolean => /^\/profile(?:\/|$)/.test(path);

export function OwnPages() {
  const id = useHomeId();
  const pages = (
    <Suspense fallback={<Waiting />}>
      <Switch>
        {PAGES.map(([path, needs, Page]) => (
          <Route key={path} path={path}>
            <Allowed to={needs}>
              <Page />
            </Allowed>
          </Route>
        ))}
        <Route>
          <NoSuchPage home="/" />
        </Route>
      </Switch>
    </Suspense>
  );
  return id === undefined ? <Shell account={null}>{pages}</Shell> : <BesideAccount id={id}>{pages}</BesideAccount>;
}

function BesideAccount({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const account = useAccountById(id);
  return <Shell account={account.data ?? null}>{children}</Shell>;
}

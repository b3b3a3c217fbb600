/** Pages outside an account. The navigation beside them shows the last account. */
import type { ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import type { OperationId } from '../admin/openapi/operations.js';
import { useAccountById, useHomeId } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { Allowed, lazyPage, NoSuchPage } from './pages.js';

const ProfilePage = lazyPage(() => import('./profile/profile-page.js'), 'ProfilePage');

const AccountsPage = lazyPage(() => import('./platform/accounts-page.js'), 'AccountsPage');
const AdjustmentsPage = lazyPage(() => import('./platform/adjustments-page.js'), 'AdjustmentsPage');
const HealthPage = lazyPage(() => import('./platform/health-page.js'), 'HealthPage');

const PAGES: readonly (readonly [path: string, needs: OperationId, page: typeof ProfilePage])[] = [
  ['/profile', 'updateMe', ProfilePage],
  ['/platform/accounts', 'createAccount', AccountsPage],
  ['/platform/adjustments', 'listAllQuotaAdjustments', AdjustmentsPage],
  ['/platform/health', 'getHealth', HealthPage],
];

/** Reports whether a path is one of these pages. */
export const isOwnPath = (path: string): boolean => /^\/(?:profile|platform)(?:\/|$)/.test(path);

export function OwnPages() {
  const id = useHomeId();
  const pages = (
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
  );
  return id === undefined ? <Shell account={null}>{pages}</Shell> : <BesideAccount id={id}>{pages}</BesideAccount>;
}

function BesideAccount({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const account = useAccountById(id);
  return <Shell account={account.data ?? null}>{children}</Shell>;
}

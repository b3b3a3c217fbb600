/**
 * Routes of the pages outside an account: profile and platform. The navigation still shows the default account, if
 * there is a default account.
 */
import type { ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import { useAccountById, useDefaultAccountId } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { OWN_PAGES } from './routes/page-list.js';
import { RequirePermission, NotFoundPage } from './routes/pages.js';

/** Reports whether a path belongs to a page outside an account. */
export const isOwnPath = (path: string): boolean => /^\/(?:profile|platform)(?:\/|$)/.test(path);

export function OwnPages() {
  const id = useDefaultAccountId();
  const pages = (
    <Switch>
      {OWN_PAGES.map(({ path, needs, page: Page }) => (
        <Route key={path} path={`/${path}`}>
          <RequirePermission to={needs}>
            <Page />
          </RequirePermission>
        </Route>
      ))}
      <Route>
        <NotFoundPage home="/" />
      </Route>
    </Switch>
  );
  return id === undefined ? <Shell account={null}>{pages}</Shell> : <AccountShell id={id}>{pages}</AccountShell>;
}

function AccountShell({ id, children }: { readonly id: string; readonly children: ReactNode }) {
  const account = useAccountById(id);
  return <Shell account={account.data ?? null}>{children}</Shell>;
}

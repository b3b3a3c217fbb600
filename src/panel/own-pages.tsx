/** Pages outside an account. The navigation beside them shows the last account. */
import type { ReactNode } from 'react';
import { Route, Switch } from 'wouter';
import { useAccountById, useHomeId } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { OWN_PAGES } from './routes/page-list.js';
import { Allowed, NoSuchPage } from './routes/pages.js';

/** Reports whether a path is one of these pages. */
export const isOwnPath = (path: string): boolean => /^\/(?:profile|platform)(?:\/|$)/.test(path);

export function OwnPages() {
  const id = useHomeId();
  const pages = (
    <Switch>
      {OWN_PAGES.map(({ path, needs, page: Page }) => (
        <Route key={path} path={`/${path}`}>
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

/**
 * Routes of the pages of one account. Their paths start with the account ID, such as `/acc_…/api-keys`. If the account
 * cannot be loaded, an error box replaces the pages.
 */
import { Redirect, Route, Switch } from 'wouter';
import { InAccount, useAccountById } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { SuspendedNotice } from './shell/suspended-notice.js';
import { ACCOUNT_PAGES } from './routes/page-list.js';
import { RequirePermission, NotFoundPage, Waiting } from './routes/pages.js';
import { Failure } from './words/failure.js';

export function AccountPages({ id }: { readonly id: string }) {
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
        {account.data.status === 'suspended' && <SuspendedNotice />}
        <Switch>
          <Route path="/:account">
            <Redirect to={`/${id}/api-keys`} replace />
          </Route>
          {ACCOUNT_PAGES.map(({ path, needs, page: Page }) => (
            // A list page and its `/new` dialog share a React key, so that form values survive when the dialog closes.
            <Route key={needs} path={`/:account/${path}`}>
              <RequirePermission to={needs}>
                <Page />
              </RequirePermission>
            </Route>
          ))}
          <Route>
            <NotFoundPage home={`/${id}/api-keys`} />
          </Route>
        </Switch>
      </Shell>
    </InAccount>
  );
}

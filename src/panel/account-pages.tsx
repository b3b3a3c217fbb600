/** Routes of an account's pages, below the account's id: `/acc_…/api-keys`. */
import { Redirect, Route, Switch } from 'wouter';
import type { OperationId } from '../admin/openapi/operations.js';
import { InAccount, useAccountById } from './session/accounts.js';
import { Shell } from './shell/shell.js';
import { SuspendedNotice } from './shell/suspended-notice.js';
import { Allowed, lazyPage, NoSuchPage, Waiting } from './pages.js';
import { Failure } from './words/failure.js';

const KeysPage = lazyPage(() => import('./api-keys/keys-page.js'), 'KeysPage');
const KeyPage = lazyPage(() => import('./api-keys/key-page.js'), 'KeyPage');
const UsagePage = lazyPage(() => import('./usage/usage-page.js'), 'UsagePage');
const LogsPage = lazyPage(() => import('./logs/logs-page.js'), 'LogsPage');
const RequestPage = lazyPage(() => import('./logs/request-page.js'), 'RequestPage');
const WebhooksPage = lazyPage(() => import('./webhooks/webhooks-page.js'), 'WebhooksPage');
const EndpointPage = lazyPage(() => import('./webhooks/endpoint-page.js'), 'EndpointPage');
const DeliveryPage = lazyPage(() => import('./webhooks/delivery-page.js'), 'DeliveryPage');
const AccessTokensPage = lazyPage(() => import('./access-tokens/access-tokens-page.js'), 'AccessTokensPage');
const AssistantsPage = lazyPage(() => import('./assistants/assistants-page.js'), 'AssistantsPage');
const ExplainPage = lazyPage(() => import('./explain/explain-page.js'), 'ExplainPage');
const AuditLogPage = lazyPage(() => import('./audit-log/audit-log-page.js'), 'AuditLogPage');
const AccountPage = lazyPage(() => import('./account/account-page.js'), 'AccountPage');
const MembersPage = lazyPage(() => import('./members/members-page.js'), 'MembersPage');

/** Pages in order of precedence: the first match is shown. */
const PAGES: readonly (readonly [path: string, needs: OperationId, page: typeof KeysPage])[] = [
  ['api-keys/new', 'listApiKeys', KeysPage],
  ['api-keys', 'listApiKeys', KeysPage],
  ['api-keys/:key', 'getApiKey', KeyPage],
  ['usage', 'getUsage', UsagePage],
  ['logs', 'listRequests', LogsPage],
  ['logs/:request', 'getRequest', RequestPage],
  ['webhooks/new', 'listWebhookEndpoints', WebhooksPage],
  ['webhooks', 'listWebhookEndpoints', WebhooksPage],
  ['webhooks/:endpoint', 'getWebhookEndpoint', EndpointPage],
  ['webhooks/:endpoint/deliveries/:delivery', 'getWebhookDelivery', DeliveryPage],
  ['assistants/new', 'listMcpTools', AssistantsPage],
  ['assistants', 'listMcpTools', AssistantsPage],
  ['explain', 'explain', ExplainPage],
  ['access-tokens/new', 'listAccountTokens', AccessTokensPage],
  ['access-tokens', 'listAccountTokens', AccessTokensPage],
  ['members', 'listAccountMembers', MembersPage],
  ['audit-log', 'listAuditLog', AuditLogPage],
  ['account', 'getAccount', AccountPage],
];

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
          {PAGES.map(([path, needs, Page]) => (
            // One key for a page and its dialog, so that form values survive when the dialog's address closes.
            <Route key={needs} path={`/:account/${path}`}>
              <Allowed to={needs}>
                <Page />
              </Allowed>
            </Route>
          ))}
          <Route>
            <NoSuchPage home={`/${id}/api-keys`} />
          </Route>
        </Switch>
      </Shell>
    </InAccount>
  );
}

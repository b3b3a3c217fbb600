/** Tables of the panel's pages: path, required permission, component, and entry in the navigation. */
import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { ComponentType } from 'react';
import type { OperationId } from '../../admin/openapi/operations.js';
import type { IconName } from '../layout/icons.js';
import { lazyPage } from './pages.js';

export interface PageRow {
  /** Path after the account ID, such as `api-keys/:key`. For pages outside an account, the path after the root. */
  readonly path: string;
  /** Operation of the admin API that the page needs. Users who cannot call the operation do not see the page. */
  readonly needs: OperationId;
  readonly page: ComponentType;
  /** Entry in the navigation. Users reach a page without an entry from another page. */
  readonly entry?: { readonly icon: IconName; readonly label: MessageDescriptor; readonly section?: MessageDescriptor };
}

const KeysPage = lazyPage(() => import('../api-keys/keys-page.js'), 'KeysPage');
const KeyPage = lazyPage(() => import('../api-keys/key-page.js'), 'KeyPage');
const UsagePage = lazyPage(() => import('../usage/usage-page.js'), 'UsagePage');
const LogsPage = lazyPage(() => import('../logs/logs-page.js'), 'LogsPage');
const RequestPage = lazyPage(() => import('../logs/request-page.js'), 'RequestPage');
const WebhooksPage = lazyPage(() => import('../webhooks/webhooks-page.js'), 'WebhooksPage');
const EndpointPage = lazyPage(() => import('../webhooks/endpoint-page.js'), 'EndpointPage');
const DeliveryPage = lazyPage(() => import('../webhooks/delivery-page.js'), 'DeliveryPage');
const AccessTokensPage = lazyPage(() => import('../access-tokens/access-tokens-page.js'), 'AccessTokensPage');
const AssistantsPage = lazyPage(() => import('../assistants/assistants-page.js'), 'AssistantsPage');
const ExplainPage = lazyPage(() => import('../explain/explain-page.js'), 'ExplainPage');
const AuditLogPage = lazyPage(() => import('../audit-log/audit-log-page.js'), 'AuditLogPage');
const AccountPage = lazyPage(() => import('../account/account-page.js'), 'AccountPage');
const MembersPage = lazyPage(() => import('../members/members-page.js'), 'MembersPage');
const ProfilePage = lazyPage(() => import('../profile/profile-page.js'), 'ProfilePage');
const AccountsPage = lazyPage(() => import('../platform/accounts-page.js'), 'AccountsPage');
const AdjustmentsPage = lazyPage(() => import('../platform/adjustments-page.js'), 'AdjustmentsPage');
const HealthPage = lazyPage(() => import('../platform/health-page.js'), 'HealthPage');

const section = msg`Developers`;
const administration = msg`Administration`;

/** Pages of an account, in the order of the navigation. The router shows the first page whose path matches. */
export const ACCOUNT_PAGES: readonly PageRow[] = [
  { path: 'api-keys/new', needs: 'listApiKeys', page: KeysPage },
  { path: 'api-keys', needs: 'listApiKeys', page: KeysPage, entry: { icon: 'key', label: msg`API keys`, section } },
  { path: 'api-keys/:key', needs: 'getApiKey', page: KeyPage },
  { path: 'usage', needs: 'getUsage', page: UsagePage, entry: { icon: 'usage', label: msg`Usage`, section } },
  { path: 'webhooks/new', needs: 'listWebhookEndpoints', page: WebhooksPage },
  {
    path: 'webhooks',
    needs: 'listWebhookEndpoints',
    page: WebhooksPage,
    entry: { icon: 'webhook', label: msg`Webhooks`, section },
  },
  { path: 'webhooks/:endpoint', needs: 'getWebhookEndpoint', page: EndpointPage },
  { path: 'webhooks/:endpoint/deliveries/:delivery', needs: 'getWebhookDelivery', page: DeliveryPage },
  { path: 'assistants/new', needs: 'listMcpTools', page: AssistantsPage },
  {
    path: 'assistants',
    needs: 'listMcpTools',
    page: AssistantsPage,
    entry: { icon: 'assistant', label: msg`AI assistants`, section },
  },
  { path: 'logs', needs: 'listRequests', page: LogsPage, entry: { icon: 'logs', label: msg`Logs`, section } },
  { path: 'logs/:request', needs: 'getRequest', page: RequestPage },
  { path: 'explain', needs: 'explain', page: ExplainPage, entry: { icon: 'explain', label: msg`Explain`, section } },
  { path: 'access-tokens/new', needs: 'listAccountTokens', page: AccessTokensPage },
  {
    path: 'access-tokens',
    needs: 'listAccountTokens',
    page: AccessTokensPage,
    entry: { icon: 'lock', label: msg`Access tokens`, section },
  },
  {
    path: 'members',
    needs: 'listAccountMembers',
    page: MembersPage,
    entry: { icon: 'members', label: msg`Members`, section: administration },
  },
  {
    path: 'audit-log',
    needs: 'listAuditLog',
    page: AuditLogPage,
    entry: { icon: 'audit', label: msg`Audit log`, section: administration },
  },
  {
    path: 'account',
    needs: 'getAccount',
    page: AccountPage,
    entry: { icon: 'account', label: msg`Account`, section: administration },
  },
];

/** Pages outside an account: the user's profile, and the pages for operators. */
export const OWN_PAGES: readonly PageRow[] = [
  { path: 'profile', needs: 'updateMe', page: ProfilePage },
  {
    path: 'platform/accounts',
    needs: 'createAccount',
    page: AccountsPage,
    entry: { icon: 'accounts', label: msg`Accounts` },
  },
  {
    path: 'platform/adjustments',
    needs: 'listAllQuotaAdjustments',
    page: AdjustmentsPage,
    entry: { icon: 'adjust', label: msg`Adjustments` },
  },
  { path: 'platform/health', needs: 'getHealth', page: HealthPage, entry: { icon: 'health', label: msg`Health` } },
];

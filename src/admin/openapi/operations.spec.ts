/**
 * Permissions of all operations, written down a second time. Guards, OpenAPI document, panel and test matrix all read
 * the table, so no other test would find a mistake in it. A change to a row must be made here too.
 */
import { expect, it } from '@jest/globals';
import type { Permission } from '../../members/permissions.js';
import { OPERATIONS } from './operations.js';

/**
 * Operations by permission: subject, roles, tokens, portal sessions, and when a confirmation is required. `limited`
 * includes portal sessions that are limited to scopes. `within` allows these for keys within their scopes.
 */
const WRITTEN_TWICE: Readonly<Record<string, string>> = {
  'anybody token portal limited': `
    getSignInWays signInWithPassword signInWithSecondFactor beginProviderSignIn finishProviderSignIn
    beginPasskeySignIn signInWithPasskey readLink takeLink requestPasswordReset
  `,
  'oneself person portal limited': `
    signOut
  `,
  'oneself token portal limited': `
    getMe getOpenApiDocument listScopes listPlans listOperations listAccounts listEventTypes
  `,
  'oneself person': `
    updateMe requestAddressVerification confirm listMySessions endSession endMyOtherSessions leaveAccount
    beginPasskeyConfirmation
    listMyIdentities listMyPasskeys renamePasskey getMySecondFactor
    getAuthorizationRequest denyAuthorizationRequest
  `,
  'oneself person always': `
    changePassword deleteMyIdentity beginPasskey addPasskey deletePasskey beginTotp confirmTotp deleteTotp
    createRecoveryCodes
  `,
  'account owner admin viewer token portal limited': `
    getAccount listMcpTools
  `,
  'account owner admin viewer token portal within': `
    listApiKeys getApiKey getApiKeyImpact explain getUsage listQuotaAdjustments
  `,
  'account owner admin viewer token portal': `
    listWebhookEndpoints getWebhookEndpoint
  `,
  installation: `
    createAccount endPortalSessions listMembers getMember
    listMemberSessions endMemberSessions listTargets listAllQuotaAdjustments getHealth getDeprecatedCalls
  `,
  'account owner admin token portal within always': `
    createApiKey rotateApiKey
  `,
  'account owner admin token portal always': `
    createWebhookEndpoint rotateWebhookSecret
  `,
  'account owner admin token portal within when_widening': `
    updateApiKey resumeApiKey
  `,
  'account owner admin token portal when_widening': `
    updateWebhookEndpoint replayWebhookDeliveries retryWebhookDelivery
  `,
  'account owner admin token portal within': `
    pauseApiKey revokeApiKey endPreviousApiKeySecret listRequests getRequest
  `,
  'account owner admin token portal': `
    listEvents getEvent endPreviousWebhookSecret deleteWebhookEndpoint testWebhookEndpoint
    listWebhookDeliveries getWebhookDelivery
  `,
  'account owner admin token': `
    listAuditLog
  `,
  'account owner admin viewer': `
    listAccountMembers
  `,
  'account person owner admin always': `
    approveAuthorizationRequest
  `,
  'account owner admin always': `
    createInvitation resendInvitation createAccountToken
  `,
  'account owner admin when_widening': `
    updateAccountMember
  `,
  'account owner admin': `
    removeAccountMember getAccountMemberImpact listInvitations revokeInvitation listAccountTokens revokeAccountToken
  `,
  'installation always': `
    createQuotaAdjustment importRecords exportRecords createPortalSession createMember createPasswordResetLink removeSecondFactor forgetMember
    deleteAccount
  `,
  'installation when_widening': `
    updateAccount updateMember
  `,
};

const LIMITED = { yes: ['limited'], keys: ['within'], no: [] } as const;

function wordsOf({ about, roles, tokens, portal, limitedPortal, confirm }: Permission): string {
  const own = about === 'account' ? roles : [];
  return [
    about,
    ...(tokens === 'none' ? ['person'] : []),
    ...own,
    ...(tokens === 'any' ? ['token'] : []),
    ...(portal ? ['portal'] : []),
    ...LIMITED[limitedPortal],
    ...(confirm === 'never' ? [] : [confirm]),
  ].join(' ');
}

it('the operation table grants exactly the permissions in WRITTEN_TWICE', () => {
  const twice = Object.entries(WRITTEN_TWICE).flatMap(([who, ids]) =>
    ids.split(/\s+/).flatMap((id) => (id === '' ? [] : [[id, who] as const])),
  );
  const inTable = Object.entries(OPERATIONS).map(([id, { permission }]) => [id, wordsOf(permission)] as const);
  expect(Object.fromEntries(inTable)).toEqual(Object.fromEntries(twice));
});

it('no account role grants an installation operation', () => {
  const rows = Object.values(OPERATIONS).filter(({ permission }) => permission.about === 'installation');
  expect(rows.filter(({ permission }) => permission.roles.length > 0)).toEqual([]);
});

/**
 * Who may do what, written down a second time: the guards, the description, the panel and the matrix of the tests all
 * read the table, so a slip in it would be everywhere, and nothing would be red. Whoever changes a row changes it here.
 */
import { expect, it } from '@jest/globals';
import { PERMISSIONS, type Permission } from './permissions.js';

/** By who may: what it is about, roles, whether tokens and portal sessions may, and whether it asks again who it is. */
const WRITTEN_TWICE: Readonly<Record<string, string>> = {
  'anybody token portal': `
    getSignInWays signInWithPassword signInWithSecondFactor beginProviderSignIn finishProviderSignIn
    beginPasskeySignIn signInWithPasskey readLink takeLink requestPasswordReset
  `,
  'oneself portal': `
    signOut
  `,
  'oneself token portal': `
    getMe getOpenApiDocument listScopes listPlans listOperations listAccounts listEventTypes
  `,
  oneself: `
    updateMe confirm listMySessions endSession endMyOtherSessions leaveAccount beginPasskeyConfirmation
    listMyIdentities listMyPasskeys renamePasskey getMySecondFactor confirmTotp
    getAuthorizationRequest denyAuthorizationRequest
  `,
  'oneself confirm': `
    changePassword deleteMyIdentity beginPasskey addPasskey deletePasskey beginTotp deleteTotp createRecoveryCodes
  `,
  'account owner admin viewer token portal': `
    getAccount listApiKeys getApiKey getApiKeyImpact getUsage listQuotaAdjustments listWebhookEndpoints
    getWebhookEndpoint explain listMcpTools
  `,
  installation: `
    createAccount updateAccount createQuotaAdjustment createPortalSession endPortalSessions listMembers getMember
    listMemberSessions endMemberSessions listTargets listAllQuotaAdjustments getHealth getDeprecatedCalls
  `,
  'account owner admin token portal confirm': `
    createApiKey rotateApiKey createWebhookEndpoint rotateWebhookSecret
  `,
  'account owner admin token portal': `
    updateApiKey pauseApiKey resumeApiKey revokeApiKey listEvents getEvent updateWebhookEndpoint
    deleteWebhookEndpoint testWebhookEndpoint 
    replayWebhookDeliveries retryWebhookDelivery listWebhookDeliveries getWebhookDelivery listRequests getRequest
  `,
  'account owner admin token': `
    listAuditLog
  `,
  'account owner admin viewer': `
    listAccountMembers
  `,
  'account owner admin confirm': `
    approveAuthorizationRequest
    updateAccountMember removeAccountMember createInvitation resendInvitation createAccountToken
  `,
  'account owner admin': `
    listInvitations revokeInvitation listAccountTokens revokeAccountToken
  `,
  'installation confirm': `
    createMember updateMember createPasswordResetLink removeSecondFactor forgetMember
  `,
};

function wordsOf({ about, roles, tokens, portal, confirm }: Permission): string {
  const own = about === 'account' ? roles : [];
  const more = [tokens && 'token', portal && 'portal', confirm && 'confirm'].filter((word) => word !== false);
  return [about, ...own, ...more].join(' ');
}

it('the table of permissions says of each operation what WRITTEN_TWICE says, and of no other', () => {
  const twice = Object.entries(WRITTEN_TWICE).flatMap(([who, ids]) =>
    ids.split(/\s+/).flatMap((id) => (id === '' ? [] : [[id, who] as const])),
  );
  const inTable = Object.entries(PERMISSIONS).map(([id, permission]) => [id, wordsOf(permission)] as const);
  expect(Object.fromEntries(inTable)).toEqual(Object.fromEntries(twice));
});

it('operators alone do what is about the installation', () => {
  const rows = Object.entries(PERMISSIONS).filter(([, { about }]) => about === 'installation');
  expect(rows.filter(([, { roles }]) => roles.length > 0)).toEqual([]);
});

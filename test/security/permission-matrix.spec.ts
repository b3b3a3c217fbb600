/**
 * Every cell of the permission matrix. Each kind of caller requests each operation of the admin API: for their own
 * account, for another, and for one that never existed.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { adminApiDocument } from '../../src/admin/admin.module.js';
import { AccountsController } from '../../src/admin/accounts/accounts.controller.js';
import { HealthController } from '../../src/admin/health/health.controller.js';
import { openApiDocument } from '../../src/admin/openapi/openapi-document.js';
import { OPERATIONS, type OperationId } from '../../src/admin/openapi/operations.js';
import type { Permission } from '../../src/members/permissions.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { RequestLogWriter } from '../../src/request-logs/request-log-writer.js';
import { requestLogRow } from '../support/request-logs.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { OPERATOR } from '../support/stores.js';
import { newWebhook, type WebhookIds } from '../support/webhook-endpoints.js';
import { accountToken, newMember, portalSession, signIn, type Credentials } from '../support/signed-in.js';

interface Described {
  readonly operationId: OperationId;
  readonly security?: readonly Record<string, unknown>[];
  readonly 'x-roles'?: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

interface Operation extends Described {
  readonly method: string;
  readonly path: string;
}

type Caller = keyof typeof CALLERS;
type Whose = 'own' | 'of another' | 'of nobody';

/** IDs for the paths. */
interface Ids extends WebhookIds {
  readonly account: string;
  readonly key: string;
  readonly invitation: string;
  readonly member: string;
}

/** The role of each caller in their own account. */
const CALLERS = {
  'the operator token': 'operator',
  'an operator member': 'operator',
  'an owner': 'owner',
  'an admin': 'admin',
  'a viewer': 'viewer',
  'an admin token': 'admin',
  'a viewer token': 'viewer',
  'a portal session': 'admin',
  'a limited portal session': 'admin',
  nobody: null,
} as const;

/** Returns the expected status by the operation's row, without reading the guards. */
function expectedOf(
  permission: Permission,
  caller: Caller,
  whose: Whose,
  beyond: 403 | 404 | null,
): 'allowed' | 401 | 403 | 404 {
  const { about, roles, tokens, portal, limitedPortal } = permission;
  const role = CALLERS[caller];
  if (about === 'anybody') return 'allowed';
  if (role === null) return 401;
  const isBarred = caller === 'the operator token' ? tokens === 'none' : caller.endsWith('token') && tokens !== 'any';
  const hasKind = !isBarred && (!caller.endsWith('portal session') || portal);
  if (about === 'oneself') return hasKind ? 'allowed' : 403;
  if (role === 'operator') return hasKind ? 'allowed' : 403;
  if (about === 'installation') return 403;
  if (whose !== 'own') return 404;
  if (caller === 'a limited portal session') {
    if (limitedPortal === 'no') return 403;
    if (limitedPortal === 'keys' && beyond !== null) return beyond;
  }
  return hasKind && (roles as readonly string[]).includes(role) ? 'allowed' : 403;
}

/** Returns the refusal that a limited session gets, because the requested key has every scope and the session one. */
function beyondGrant({ path, operationId }: Operation): 403 | 404 | null {
  if (operationId === 'getRequest') return 404;
  return path.includes('/api-keys/{id}') || operationId === 'explain' ? 403 : null;
}

/** Codes that only guards return. */
const GUARDS_CODES = new Set([
  'missing_credentials',
  'invalid_credentials',
  'session_ended',
  'cross_site_request',
  'forbidden',
]);

describeOnDatabases('every operation of the admin API', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let operations: readonly Operation[];
  let credentials: ReadonlyMap<Caller, () => Promise<Credentials>>;
  const ids = new Map<Whose, Ids>();

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    const { admin } = running;
    for (const whose of ['own', 'of another'] as const) {
      const { account, key } = await admin.newKey('starter');
      const invited = { email: 'bea@example.com', role: 'viewer' };
      const invitation = await admin.call<{ id: string }>('POST', `/accounts/${account.id}/invitations`, invited);
      const webhooks = await newWebhook(running, account.id);
      const memberId = await newMember(database, { roles: { [account.id]: 'viewer' } });
      ids.set(whose, { account: account.id, key: key.id, invitation: invitation.id, member: memberId, ...webhooks });
      // A request with the ID `nothing` must exist, so that allowed callers get it.
      const at = running.clock.now();
      await new RequestLogWriter(database.db, kind).write([
        requestLogRow({ accountId: account.id, keyId: key.id, requestId: 'nothing', at, seq: 1 }),
      ]);
    }
    const none = '0'.repeat(25);
    const webhooks = { endpoint: `whe_${none}`, delivery: `whd_${none}`, event: `evt_${none}` };
    const nobodys = { account: `acc_${none}`, key: `key_${none}`, invitation: `inv_${none}`, member: `mem_${none}` };
    ids.set('of nobody', { ...nobodys, ...webhooks });
    const own = ids.get('own')!.account;
    // Each request has its own session, because some end it.
    const member = (id: string) => () => signIn(running, id);
    const memberIn = async (role: 'owner' | 'admin' | 'viewer') =>
      member(await newMember(database, { roles: { [own]: role } }));
    const fixed = (headers: Credentials) => () => Promise.resolve(headers);
    credentials = new Map<Caller, () => Promise<Credentials>>([
      ['the operator token', fixed({ Authorization: `Bearer ${ADMIN_TOKEN}` })],
      ['an operator member', member(await newMember(database, { isOperator: true }))],
      ['an owner', await memberIn('owner')],
      ['an admin', await memberIn('admin')],
      ['a viewer', await memberIn('viewer')],
      ['an admin token', fixed(await accountToken(running, own, 'admin'))],
      ['a viewer token', fixed(await accountToken(running, own, 'viewer'))],
      ['a portal session', () => portalSession(running, own, 'admin')],
      ['a limited portal session', () => portalSession(running, own, 'admin', ['tours:read'])],
      ['nobody', fixed({})],
    ]);
    const { paths } = await admin.call<{ paths: Record<string, Record<string, Described>> }>('GET', '/openapi.json');
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
    );
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  /** Sends a request with an invalid body: after the guards, it gets a validation error, and changes nothing. */
  async function ask(
    { method, path, operationId, parameters = [] }: Operation,
    caller: Caller,
    whose: Whose,
    own?: Credentials,
  ): Promise<Answer> {
    const { account, key, invitation, member, endpoint, delivery, event } = ids.get(whose)!;
    const filled = path
      .replace('/accounts/{id}', `/accounts/${account}`)
      .replace('/api-keys/{id}', `/api-keys/${key}`)
      .replace('/members/{member_id}', `/members/${member}`)
      .replace('/invitations/{id}', `/invitations/${invitation}`)
      .replace('/webhook-endpoints/{id}', `/webhook-endpoints/${endpoint}`)
      .replace('/webhook-deliveries/{id}', `/webhook-deliveries/${delivery}`)
      .replace('/events/{id}', `/events/${event}`)
      .replaceAll(/\{\w+\}/g, 'nothing');
    const isAuditLog = parameters.some(({ name }) => name === 'account_id');
    const query = isAuditLog ? `?account_id=${account}` : '';
    const abouts: Partial<Record<string, object>> = {
      explain: { api_key_id: key },
      approveAuthorizationRequest: { account_id: account },
    };
    const about = abouts[operationId] ?? {};
    const body =
      method === 'POST' || method === 'PATCH' || method === 'PUT' ? { ...about, 'no such field': 1 } : undefined;
    const headers = { 'Sec-Fetch-Site': 'same-origin', ...(own ?? (await credentials.get(caller)!())) };
    return send(`${running.url}${filled}${query}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  it('is open to exactly the callers in the table of operations', async () => {
    const wrong: string[] = [];
    let cells = 0;
    for (const operation of operations) {
      const permission = OPERATIONS[operation.operationId].permission;
      for (const caller of Object.keys(CALLERS) as Caller[]) {
        for (const whose of permission.about === 'account'
          ? (['of nobody', 'of another', 'own'] as const)
          : (['own'] as const)) {
          // A DELETE has no body that would be rejected, so an allowed one would succeed.
          if (
            operation.method === 'DELETE' &&
            whose === 'own' &&
            expectedOf(permission, caller, whose, beyondGrant(operation)) === 'allowed'
          )
            continue;
          // The limits are per minute.
          running.clock.advance(100);
          const answer = await ask(operation, caller, whose);
          const code = answer.status < 400 ? '' : String(answer.json<{ code: string }>().code);
          const expected = expectedOf(permission, caller, whose, beyondGrant(operation));
          // Outside accounts, a handler returns resource_not_found, which means that the guards let the caller pass.
          const isRefused = GUARDS_CODES.has(code) || (permission.about === 'account' && code === 'resource_not_found');
          const got =
            isRefused && (CALLERS[caller] !== 'operator' || GUARDS_CODES.has(code)) ? answer.status : 'allowed';
          cells++;
          if (got !== expected)
            wrong.push(`${operation.operationId} by ${caller}, ${whose}: ${got}, not ${expected} (${code})`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(cells).toBeGreaterThan(400);
  });

  it('requires a confirmation only from members, exactly where the table says so', async () => {
    const old = { confirmed_at: running.clock.now() - 11 * 60_000 };
    const wrong: string[] = [];
    for (const operation of operations) {
      const { about, confirm, roles } = OPERATIONS[operation.operationId].permission;
      // step-up.spec.ts tests confirmations that depend on the body.
      if (about === 'anybody' || confirm === 'when_widening') continue;
      for (const caller of ['an operator member', 'an owner', 'an admin token', 'a portal session'] as const) {
        const isLetIn =
          expectedOf(OPERATIONS[operation.operationId].permission, caller, 'own', beyondGrant(operation)) === 'allowed';
        if (!isLetIn || (operation.method === 'DELETE' && confirm !== 'always')) continue;
        running.clock.advance(100);
        const headers = await credentials.get(caller)!();
        await database.db.updateTable('member_session').set(old).execute();
        const answer = await ask(operation, caller, 'own', headers);
        const isAsked = answer.status === 403 && answer.json<{ code: string }>().code === 'confirmation_required';
        const isMember = caller === 'an operator member' || caller === 'an owner';
        if (isAsked !== (confirm === 'always' && isMember))
          wrong.push(`${operation.operationId} by ${caller} (${roles.join(' ')})`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('rejects a token whose creator has lost access in any way', async () => {
    const { account } = ids.get('own')!;
    const { accountMembers, admin, erasure } = running.members;
    const losses: readonly ((id: string) => Promise<unknown>)[] = [
      (id) => accountMembers.removeMember(account, id, 'operator', OPERATOR),
      (id) => accountMembers.leaveAccount(account, id, OPERATOR),
      (id) => accountMembers.changeRole(account, id, 'viewer', 'operator', OPERATOR),
      (id) => admin.update(id, { status: 'disabled' }, OPERATOR),
      (id) => erasure.eraseMember(id, OPERATOR),
    ];
    const tokens: Credentials[] = [];
    for (const lose of losses) {
      const creator = await newMember(database, { roles: { [account]: 'admin' } });
      for (const role of ['admin', 'viewer'] as const) tokens.push(await accountToken(running, account, role, creator));
      await lose(creator);
    }
    const open: string[] = [];
    for (const operation of operations) {
      if (OPERATIONS[operation.operationId].permission.about === 'anybody') continue;
      for (const [index, token] of tokens.entries()) {
        // Stays below the limit on invalid tokens from one address.
        running.clock.advance(7_000);
        const { status } = await ask(operation, 'an admin token', 'own', token);
        if (status !== 401) open.push(`${operation.operationId} by token ${index}: ${status}`);
      }
    }
    expect(open).toEqual([]);
  });

  it('documents its callers and roles as in the table of operations', () => {
    const documented = operations.map(({ operationId, security = [], 'x-roles': roles = [] }) => {
      const ways = security.flatMap((way) => Object.keys(way));
      return [operationId, ways.includes('session'), ways.includes('accountToken'), roles];
    });
    const inTable = operations.map(({ operationId }) => {
      const { about, tokens, roles } = OPERATIONS[operationId].permission;
      const isOpen = about === 'anybody';
      return [operationId, !isOpen, !isOpen && tokens === 'any', isOpen ? [] : ['operator', ...roles]];
    });
    expect(documented).toEqual(inTable);
  });
});

it('every operation has one handler, and every handler has an operation', () => {
  expect(() => adminApiDocument()).not.toThrow();
  expect(() => openApiDocument([], '1.0.0')).toThrow('listAccounts has 0 handlers');
  expect(() => openApiDocument([AccountsController, AccountsController], '1.0.0')).toThrow(
    'listAccounts has 2 handlers',
  );
  expect(() => openApiDocument([HealthController], '1.0.0')).toThrow('has a route and no @Operation');
});

/**
 * Changes that widen access require a recent confirmation, and changes that narrow it do not. Members whose
 * confirmation is too old try every changing operation that a session may call.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { OPERATIONS, type OperationId } from '../../src/admin/openapi/operations.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { newMember, portalSession, signIn, type Credentials } from '../support/signed-in.js';
import { addServiceEvent, newWebhook, PUBLIC_URL } from '../support/webhook-endpoints.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

interface Described {
  readonly operationId: OperationId;
  readonly security?: readonly Record<string, unknown>[];
  readonly 'x-confirmation'?: string;
}

interface Operation extends Described {
  readonly method: string;
  readonly path: string;
}

/** World holds the objects of a case. Each case makes new ones, so that none depends on the one before. */
interface World {
  readonly account: string;
  readonly key: string;
  readonly endpoint: string;
  readonly delivery: string;
  readonly invitation: string;
  readonly token: string;
  readonly viewer: string;
  readonly admin: string;
  readonly now: number;
}

/** A request for an operation, with its preparation. */
interface Case {
  readonly body?: object | ((world: World) => object);
  /** Replaces the default IDs of the path. */
  readonly path?: (world: World) => Readonly<Record<string, string>>;
  readonly before?: (world: World) => Promise<unknown>;
  /** Status of success; 200 by default. */
  readonly status?: number;
}

type Cases = Readonly<Record<string, Case>>;

interface Classified {
  readonly widening: Cases;
  readonly narrowing: Cases;
}

const at = (ms: number): string => new Date(ms).toISOString();
const inDays = (days: number) => (world: World) => ({ expires_at: at(world.now + days * DAY_MS) });

/** Operations whose bodies decide. `newWorld` defines the scopes, address blocks, expiry and limits of the key. */
function classified(
  running: () => RunningAdmin,
  database: () => DatabaseHandle,
): Partial<Record<OperationId, Classified>> {
  const call = (method: string, path: string, body?: object) => running().admin.call(method, path, body);
  const pause = ({ key }: World) => call('POST', `/api-keys/${key}/pause`);
  const expire = ({ key, now }: World) =>
    database()
      .db.updateTable('api_key')
      .set({ expires_at: now - 1 })
      .where('id', '=', key)
      .execute();
  const move = async ({ endpoint }: World) => {
    running().clock.advance(1_000);
    await call('PATCH', `/webhook-endpoints/${endpoint}`, { url: `${PUBLIC_URL}/elsewhere` });
    running().clock.advance(1_000);
  };
  const fail = (world: World) =>
    database().db.updateTable('webhook_delivery').set({ state: 'failed' }).where('id', '=', world.delivery).execute();
  return {
    updateApiKey: {
      widening: {
        'another scope': { body: { scopes: ['customers:read', 'tours:read'] } },
        'every scope of a resource': { body: { scopes: ['customers:*'] } },
        'every scope': { body: { scopes: ['*'] } },
        'another address': { body: { allowed_ips: ['10.1.0.0/16', '203.0.113.7'] } },
        'a larger block': { body: { allowed_ips: ['10.0.0.0/8'] } },
        'a larger block in the notation of IPv6': { body: { allowed_ips: ['::ffff:10.0.0.0/104'] } },
        'any address': { body: { allowed_ips: [] } },
        'a later end': { body: inDays(31) },
        'no end': { body: { expires_at: null } },
        'an end in the future for an expired key': { body: inDays(1), before: expire },
        'a higher limit': { body: { limits: { minute: 31, month: 1_000 } } },
        'no limit': { body: { limits: { minute: null, month: 1_000 } } },
        'the higher limit of the plan': { body: { limits: null } },
        'one wider field among narrower ones': { body: { name: 'x', scopes: ['customers:read'], allowed_ips: [] } },
      },
      narrowing: {
        'another name': { body: { name: 'Renamed' } },
        'fewer scopes': { body: { scopes: ['customers:read'] } },
        'a smaller block': { body: { allowed_ips: ['10.1.2.0/24'] } },
        'an address of the block': { body: { allowed_ips: ['10.1.2.3', '2001:db8::7'] } },
        'an earlier end': { body: inDays(29) },
        'a lower limit': { body: { limits: { minute: 1, month: 0 } } },
        'what it has already': {
          body: { scopes: ['customers:read', 'customers:write'], allowed_ips: ['10.1.0.0/16', '2001:db8::/32'] },
        },
      },
    },
    resumeApiKey: { widening: { 'a paused key': { before: pause } }, narrowing: { 'a key that works': {} } },
    pauseApiKey: { widening: {}, narrowing: { 'a key': {} } },
    revokeApiKey: { widening: {}, narrowing: { 'a key': {} } },
    endPreviousApiKeySecret: { widening: {}, narrowing: { 'a key without one': {} } },
    updateWebhookEndpoint: {
      widening: {
        'another URL': { body: { url: 'https://attacker.trailgate.dev/hooks' } },
        'another path': { body: { url: `${PUBLIC_URL}/more` } },
        'another type': { body: { event_types: ['customer.created', 'customer.updated'] } },
        'a family': { body: { event_types: ['customer.*'] } },
        'every type': { body: { event_types: [] } },
        'events again': {
          body: { status: 'enabled' },
          before: ({ endpoint }) => call('PATCH', `/webhook-endpoints/${endpoint}`, { status: 'paused' }),
        },
      },
      narrowing: {
        'fewer types': { body: { event_types: ['customer.created'] } },
        'a pause': { body: { status: 'paused' } },
        'another pace': { body: { rate_per_second: 5, description: 'Shop' } },
      },
    },
    replayWebhookDeliveries: {
      widening: {
        'events from before the URL': { body: { status: 'failed' }, before: move },
        'a time that begins before the URL': {
          body: ({ now }) => ({ status: 'succeeded', since: at(now) }),
          before: move,
        },
        'events from before the endpoint': { body: { status: 'all' } },
      },
      narrowing: {
        'what failed at the URL': { body: { status: 'failed' }, status: 202 },
        'a time since the URL': {
          body: () => ({ status: 'all', since: at(running().clock.now()) }),
          before: move,
          status: 202,
        },
      },
    },
    retryWebhookDelivery: {
      widening: {
        'a delivery from before the URL': { before: async (world) => [await fail(world), await move(world)] },
      },
      narrowing: { 'a delivery to the same URL': { before: fail, status: 202 } },
    },
    testWebhookEndpoint: { widening: {}, narrowing: { 'an example': { body: {} } } },
    endPreviousWebhookSecret: { widening: {}, narrowing: { 'an endpoint without one': {} } },
    deleteWebhookEndpoint: { widening: {}, narrowing: { 'an endpoint': { status: 204 } } },
    updateAccountMember: {
      widening: {
        'viewer to admin': { body: { role: 'admin' }, path: ({ viewer }) => ({ member_id: viewer }) },
        'admin to owner': { body: { role: 'owner' }, path: ({ admin }) => ({ member_id: admin }) },
      },
      narrowing: {
        'admin to viewer': { body: { role: 'viewer' }, path: ({ admin }) => ({ member_id: admin }) },
      },
    },
    removeAccountMember: {
      widening: {},
      narrowing: { 'an admin': { path: ({ admin }) => ({ member_id: admin }) } },
    },
    revokeInvitation: {
      widening: {},
      narrowing: { 'an invitation': { path: (w) => ({ invitation_id: w.invitation }) } },
    },
    revokeAccountToken: { widening: {}, narrowing: { 'a token': { path: ({ token }) => ({ token_id: token }) } } },
    updateAccount: {
      widening: {
        'a plan with higher limits': { body: { plan: 'pro' } },
        'another billing day': { body: { billing_day: 2 } },
        'the end of a suspension': {
          body: { status: 'active' },
          before: ({ account }) => call('PATCH', `/accounts/${account}`, { status: 'suspended' }),
        },
      },
      narrowing: {
        'another name': { body: { name: 'Renamed' } },
        'a plan with lower limits': {
          body: { plan: 'starter' },
          before: ({ account }) => call('PATCH', `/accounts/${account}`, { plan: 'pro' }),
        },
        'a suspension': { body: { status: 'suspended' } },
      },
    },
    updateMember: {
      widening: {
        'an operator': { body: { is_operator: true }, path: ({ viewer }) => ({ id: viewer }) },
        'the end of a ban': {
          body: { status: 'active' },
          path: ({ viewer }) => ({ id: viewer }),
          before: ({ viewer }) => call('PATCH', `/members/${viewer}`, { status: 'disabled' }),
        },
      },
      narrowing: {
        'a ban': { body: { status: 'disabled' }, path: ({ viewer }) => ({ id: viewer }) },
        'a member like others': {
          body: { is_operator: false },
          path: ({ viewer }) => ({ id: viewer }),
          before: ({ viewer }) => call('PATCH', `/members/${viewer}`, { is_operator: true }),
        },
      },
    },
    endPortalSessions: { widening: {}, narrowing: { 'those of an account': { status: 204 } } },
    endMemberSessions: {
      widening: {},
      narrowing: { 'those of a member': { path: (w) => ({ id: w.viewer }), status: 204 } },
    },
    createAccount: {
      widening: {},
      narrowing: { 'an account without keys': { body: { name: 'A', plan: 'starter' }, status: 201 } },
    },
    leaveAccount: { widening: {}, narrowing: { 'an account': {} } },
    updateMe: { widening: {}, narrowing: { 'another name': { body: { name: 'Bea' } } } },
    endMyOtherSessions: { widening: {}, narrowing: { 'those of other browsers': { status: 204 } } },
    signOut: { widening: {}, narrowing: { 'this browser': { status: 204 } } },
  };
}

/** Operations that do not affect access, and need no case. */
const WITHOUT_ACCESS: ReadonlySet<OperationId> = new Set([
  'explain',
  // The confirmation itself.
  'confirm',
  'beginPasskeyConfirmation',
  'endSession',
  'renamePasskey',
  'requestAddressVerification',
  'denyAuthorizationRequest',
]);

describeOnDatabases('a session with an old confirmation', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let operations: readonly Operation[];
  let operator: string;
  const cases = classified(
    () => running,
    () => database,
  );

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database, { events: ['customer.created', 'customer.updated', 'customer.deleted'] });
    operator = await newMember(database, { isOperator: true });
    const { paths } = await running.admin.call<{ paths: Record<string, Record<string, Described>> }>(
      'GET',
      '/openapi.json',
    );
    operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
      )
      .filter(({ method, security = [] }) => method !== 'GET' && security.some((way) => 'session' in way));
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  async function newWorld(): Promise<World> {
    const { admin, clock } = running;
    clock.advance(MINUTE_MS);
    const now = clock.now();
    const { id: account } = await admin.createAccount({ plan: 'starter' });
    const key = await admin.createKey(account, {
      scopes: ['customers:read', 'customers:write'],
      allowed_ips: ['10.1.0.0/16', '2001:db8::/32'],
      expires_at: at(now + 30 * DAY_MS),
      limits: { minute: 30, month: 1_000 },
    });
    const { endpoint, delivery } = await newWebhook(running, account);
    await admin.call('PATCH', `/webhook-endpoints/${endpoint}`, {
      event_types: ['customer.created', 'customer.deleted'],
    });
    await addServiceEvent(running, account);
    const invited = { email: 'bea@example.com', role: 'viewer' };
    const token = { name: 'CI', role: 'viewer', expires_at: at(now + DAY_MS) };
    return {
      account,
      key: key.id,
      endpoint,
      delivery,
      invitation: (await admin.call<{ id: string }>('POST', `/accounts/${account}/invitations`, invited)).id,
      token: (await admin.call<{ id: string }>('POST', `/accounts/${account}/tokens`, token)).id,
      viewer: await newMember(database, { roles: { [account]: 'viewer' } }),
      admin: await newMember(database, { roles: { [account]: 'admin' } }),
      now,
    };
  }

  /** Signs in the owner of the account, or an operator where only one may, and makes the confirmation old. */
  async function agedSession({ operationId }: Operation, { account }: World): Promise<Credentials> {
    const isOperators = OPERATIONS[operationId].permission.about === 'installation';
    const owner = isOperators ? operator : await newMember(database, { roles: { [account]: 'owner' } });
    // The account must keep another owner.
    await newMember(database, { roles: { [account]: 'owner' } });
    const credentials = await signIn(running, owner);
    const confirmedAt = running.clock.now() - 11 * MINUTE_MS;
    await database.db.updateTable('member_session').set({ confirmed_at: confirmedAt }).execute();
    return credentials;
  }

  function ask(operation: Operation, world: World, one: Case, headers: Credentials): Promise<Answer> {
    const ids: Readonly<Record<string, string>> = {
      account_id: world.account,
      ...(operation.path.includes('/api-keys/') ? { id: world.key } : {}),
      ...(operation.path.includes('/webhook-endpoints/') ? { id: world.endpoint } : {}),
      ...(operation.path.includes('/webhook-deliveries/') ? { id: world.delivery } : {}),
      ...(operation.path.includes('/invitations/') ? { id: world.invitation } : {}),
      ...(operation.path.includes('/accounts/') ? { id: world.account } : {}),
      ...one.path?.(world),
    };
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'nothing');
    const body = typeof one.body === 'function' ? one.body(world) : one.body;
    const { method } = operation;
    return send(`${running.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  const codeOf = (answer: Answer): string => (answer.status < 400 ? '' : ` ${answer.json<{ code: string }>().code}`);

  it('has every changing operation classified here and documented by x-confirmation', async () => {
    const unclassified: string[] = [];
    for (const { operationId, 'x-confirmation': said } of operations) {
      const { confirm } = OPERATIONS[operationId].permission;
      expect([operationId, said]).toEqual([operationId, confirm]);
      const own = cases[operationId];
      const isClassified =
        confirm === 'always'
          ? own === undefined
          : own === undefined
            ? confirm === 'never' && WITHOUT_ACCESS.has(operationId)
            : Object.keys(own.narrowing).length > 0 &&
              (confirm === 'when_widening') === Object.keys(own.widening).length > 0;
      if (!isClassified) unclassified.push(operationId);
    }
    expect(unclassified).toEqual([]);
  });

  it('must confirm before operations that always require it, whatever the body', async () => {
    const wrong: string[] = [];
    const world = await newWorld();
    for (const operation of operations) {
      if (OPERATIONS[operation.operationId].permission.confirm !== 'always') continue;
      running.clock.advance(100);
      const own = { body: operation.method === 'DELETE' ? undefined : { account_id: world.account } } as Case;
      const answer = await ask(operation, world, own, await agedSession(operation, world));
      if (codeOf(answer) !== ' confirmation_required') wrong.push(`${operation.operationId}: ${answer.status}`);
    }
    expect(wrong).toEqual([]);
  });

  it('must confirm before each change that widens access, and before none that narrows it', async () => {
    const wrong: string[] = [];
    for (const operation of operations) {
      const { widening = {}, narrowing = {} } = cases[operation.operationId] ?? {};
      for (const [isWider, some] of [
        [true, widening],
        [false, narrowing],
      ] as const) {
        for (const [name, one] of Object.entries(some)) {
          const world = await newWorld();
          await one.before?.(world);
          const answer = await ask(operation, world, one, await agedSession(operation, world));
          const got = `${answer.status}${codeOf(answer)}`;
          const expected = isWider ? '403 confirmation_required' : String(one.status ?? 200);
          if (got !== expected) wrong.push(`${operation.operationId}, ${name}: ${got}, not ${expected}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('needs no confirmation if it is a portal session', async () => {
    const world = await newWorld();
    const update = operations.find(({ operationId }) => operationId === 'updateApiKey')!;
    const headers = await portalSession(running, world.account, 'admin');
    await database.db.updateTable('member_session').set({ confirmed_at: 1 }).execute();
    expect((await ask(update, world, { body: { scopes: ['*'] } }, headers)).status).toBe(200);
  });
});

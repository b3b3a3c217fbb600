/** IDs of another account get the same response as unknown IDs, in every path, body and query. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { OPERATIONS, type OperationId } from '../../src/admin/openapi/operations.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newWebhook } from '../support/webhook-endpoints.js';
import { newMember, signIn, type Credentials } from '../support/signed-in.js';

interface Described {
  readonly operationId: OperationId;
}

describeOnDatabases('data of another account', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let own: Credentials;
  const foreign = new Map<string, string>();
  const nobodys = new Map<string, string>();

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    const { admin } = running;
    const mine = await admin.createAccount({ plan: 'starter' });
    own = await signIn(running, await newMember(database, { roles: { [mine.id]: 'owner' } }));
    const { account, key } = await admin.newKey('starter');
    const member = await newMember(database, { roles: { [account.id]: 'owner' } });
    const invitation = await admin.call<{ id: string }>('POST', `/accounts/${account.id}/invitations`, {
      email: 'bea@example.com',
      role: 'viewer',
    });
    const expires = new Date(running.clock.now() + 86_400_000).toISOString();
    const token = await admin.call<{ id: string }>('POST', `/accounts/${account.id}/tokens`, {
      name: 'CI',
      role: 'viewer',
      expires_at: expires,
    });
    const { endpoint, delivery, event } = await newWebhook(running, account.id);
    for (const id of [account.id, key.id, member, invitation.id, token.id, endpoint, delivery, event]) {
      const [prefix = ''] = id.split('_');
      foreign.set(prefix, id);
      nobodys.set(prefix, `${prefix}_${'0'.repeat(25)}`);
    }
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const PREFIXES: Readonly<Record<string, string>> = {
    accounts: 'acc',
    'api-keys': 'key',
    members: 'mem',
    invitations: 'inv',
    tokens: 'tok',
    'webhook-endpoints': 'whe',
    'webhook-deliveries': 'whd',
    events: 'evt',
  };

  function fill(path: string, ids: ReadonlyMap<string, string>): string {
    return path.replaceAll(/([\w-]+)\/\{\w+\}/g, (_whole, collection: string) => {
      const id = ids.get(PREFIXES[collection] ?? '') ?? 'nothing';
      return `${collection}/${id}`;
    });
  }

  it('gets the same 404 response, byte for byte, as data that never existed', async () => {
    const { paths } = await running.admin.call<{ paths: Record<string, Record<string, Described>> }>(
      'GET',
      '/openapi.json',
    );
    let asked = 0;
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { operationId }] of Object.entries(methods)) {
        if (OPERATIONS[operationId].permission.about !== 'account') continue;
        const answers = [];
        for (const ids of [foreign, nobodys]) {
          const query = operationId === 'listAuditLog' ? `?account_id=${ids.get('acc')}` : '';
          const bodies: Partial<Record<string, object>> = {
            explain: { api_key_id: ids.get('key'), operation: 'listCustomers' },
            approveAuthorizationRequest: { account_id: ids.get('acc') },
          };
          const body = bodies[operationId] ?? {};
          running.clock.advance(100);
          const answer = await send(`${running.url}${fill(path, ids)}${query}`, {
            method: method.toUpperCase(),
            headers: own,
            ...(['post', 'patch', 'put'].includes(method) ? { body } : {}),
          });
          answers.push([operationId, answer.status, answer.text.replace(/"request_id":"\w+"/, '')]);
        }
        expect(answers[0]?.[1]).toBe(404);
        expect(answers[0]).toEqual(answers[1]);
        asked++;
      }
    }
    expect(asked).toBeGreaterThan(20);
  });

  it('cannot be reached through one’s own account: by token, member or key ID', async () => {
    const accounts = await send(`${running.url}/admin/v1/accounts`, { headers: own });
    const [{ id: mine = '' } = {}] = accounts.json<{ data: { id: string }[] }>().data;
    const calls = [
      ['DELETE', `/accounts/${mine}/tokens/${foreign.get('tok')}`],
      ['DELETE', `/accounts/${mine}/members/${foreign.get('mem')}`],
      ['PATCH', `/accounts/${mine}/members/${foreign.get('mem')}`],
      ['GET', `/accounts/${mine}/usage?api_key_id=${foreign.get('key')}`],
    ] as const;
    for (const [method, path] of calls) {
      const body = method === 'PATCH' ? { body: { role: 'viewer' } } : {};
      const answer = await send(`${running.url}/admin/v1${path}`, { method, headers: own, ...body });
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    const requests = await send(`${running.url}/admin/v1/accounts/${mine}/requests?api_key_id=${foreign.get('key')}`, {
      headers: own,
    });
    expect(requests.status === 404 || requests.json<{ data: unknown[] }>().data.length === 0).toBe(true);
  });
});

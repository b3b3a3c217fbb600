/**
 * Credentials depend on their creator. They stop working once the member who created them may no longer create such
 * credentials. API keys and webhook endpoints belong to the account and stay.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createApiKeySchema } from '../../src/accounts/api-key-fields.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Role } from '../../src/members/permissions.js';
import type { Invalidation } from '../../src/keys/api-key.js';
import { applyOperatorClaim } from '../../src/members/providers/operator-claims.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { fromPanel, GOOD_PASSWORD, newMember, signIn, type Credentials } from '../support/signed-in.js';

type Type = 'account_token' | 'invitation' | 'oauth_grant' | 'password_link' | 'portal_session';

/** Credential, and a check whether it works. */
interface Made {
  readonly type: Type;
  readonly id: string;
  readonly works: () => Promise<boolean>;
}

/** Lists that the API returns: credentials that a removal ends, and resources that it keeps. */
interface Listed {
  readonly ended: readonly { readonly type: Type; readonly id: string; readonly account_id: string | null }[];
  readonly kept: readonly { readonly type: string; readonly id: string; readonly name: string }[];
  readonly kept_has_more: boolean;
}

/** Ways to lose access: the title, the cause in the audit log, and the access that the member had. */
const LOSSES = [
  ['is removed by an owner', 'creator_removed', { role: 'admin' }],
  ['leaves', 'creator_left', { role: 'admin' }],
  ['is made a viewer', 'creator_role_changed', { role: 'admin' }],
  ['is made a viewer, having been an owner', 'creator_role_changed', { role: 'owner' }],
  ['is disabled', 'creator_disabled', { role: 'admin' }],
  ['is forgotten', 'creator_forgotten', { role: 'admin' }],
  ['is no longer an operator', 'creator_no_longer_operator', { isOperator: true }],
  ['is no operator any more by the word of an identity provider', 'creator_no_longer_operator', { isOperator: true }],
  ['is disabled, being an operator', 'creator_disabled', { isOperator: true }],
  ['is forgotten, being an operator', 'creator_forgotten', { isOperator: true }],
] as const satisfies readonly (readonly [string, string, { role?: Role; isOperator?: boolean }])[];

describeOnDatabases('credentials that a member created', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let other: RunningAdmin;
  let accountId: string;
  let ownerId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    const settings = { portal: { returnOrigins: ['https://app.example.com'] } };
    running = await startAdmin(database, { settings });
    // Starts a second node on the same database.
    other = await startAdmin(database, { settings });
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    ownerId = await newMember(database, { roles: { [accountId]: 'owner' } });
  });
  // Attempts with links and invalid tokens are limited per minute.
  beforeEach(() => [running, other].forEach(({ clock }) => clock.advance(61_000)));
  afterAll(async () => {
    await other.close();
    await running.close();
    await database.close();
  });

  const ask = (as: Credentials, method: string, path: string, body?: object, at = running): Promise<Answer> =>
    send(`${at.url}/admin/v1${path}`, { method, headers: as, ...(body === undefined ? {} : { body }) });
  const made = async <T>(as: Credentials, path: string, body: object): Promise<T> => {
    const answer = await ask(as, 'POST', path, body);
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.json<T>();
  };
  const inADay = () => new Date(running.clock.now() + 86_400_000).toISOString();
  const linkWorks = async (link: string): Promise<boolean> => {
    const token = link.split('#')[1];
    const { status } = await ask({ 'Sec-Fetch-Site': 'same-origin' }, 'POST', '/links/read', { token });
    expect([200, 410]).toContain(status);
    return status === 200;
  };

  const newToken = async (as: Credentials, role: 'admin' | 'viewer', account = accountId): Promise<Made> => {
    const body = { name: 'CI', role, expires_at: inADay() };
    const { id, secret } = await made<{ id: string; secret: string }>(as, `/accounts/${account}/tokens`, body);
    const headers = { Authorization: `Bearer ${secret}` };
    const statusAt = async (at: RunningAdmin) =>
      (await ask(headers, 'GET', `/accounts/${account}`, undefined, at)).status;
    // Expects both nodes to agree.
    const works = async () => {
      const statuses = [await statusAt(running), await statusAt(other)];
      expect([
        [200, 200],
        [401, 401],
      ]).toContainEqual(statuses);
      return statuses[0] === 200;
    };
    return { type: 'account_token', id, works };
  };
  const newInvitation = async (as: Credentials, role: Role): Promise<Made> => {
    const body = { email: `${role}-${Math.random()}@example.com`, role };
    const { id, link } = await made<{ id: string; link: string }>(as, `/accounts/${accountId}/invitations`, body);
    return { type: 'invitation', id, works: () => linkWorks(link) };
  };
  const newGrant = async (memberId: string): Promise<Made> => {
    const client = { id: 'client', name: 'Claude', memberId };
    const input = createApiKeySchema.parse({ name: 'Claude', scopes: ['customers:read'] });
    const context = { actor: memberId, ip: '127.0.0.1', requestId: 'req_test' };
    const { id } = await running.modules.keyStore.createForClient(accountId, input, client, context);
    const works = async () => (await running.modules.keyStore.get(id)).status === 'active';
    return { type: 'oauth_grant', id, works };
  };
  const newPortalLink = (as: Credentials) =>
    made<{ id: string; url: string }>(as, '/portal-sessions', {
      account_id: accountId,
      role: 'admin',
      return_url: 'https://app.example.com/',
    });
  const portalMade = async (as: Credentials): Promise<readonly Made[]> => {
    const open = await newPortalLink(as);
    const used = await newPortalLink(as);
    const taken = await ask({ 'Sec-Fetch-Site': 'same-origin' }, 'POST', '/links/take', {
      token: used.url.split('#')[1],
    });
    const cookie = /tg_session=([^;]+)/.exec(String(taken.headers['set-cookie']))?.[1] ?? '';
    const headers = fromPanel(cookie);
    const row = await database.db.selectFrom('member_session').select('id').orderBy('id', 'desc').executeTakeFirst();
    return [
      { type: 'portal_session', id: open.id, works: () => linkWorks(open.url) },
      {
        type: 'portal_session',
        id: row?.id ?? '',
        works: async () => (await ask(headers, 'GET', `/accounts/${accountId}`, undefined, other)).status === 200,
      },
    ];
  };
  const passwordLink = async (as: Credentials): Promise<Made> => {
    const target = await newMember(database);
    const { link } = await made<{ link: string }>(as, `/members/${target}/password-reset-links`, {});
    const row = database.db.selectFrom('link').select('id').where('member_id', '=', target);
    return {
      type: 'password_link',
      id: (await row.executeTakeFirstOrThrow()).id,
      works: () => linkWorks(link),
    };
  };
  /** Creates one credential of each type that a member can create. */
  const everythingBy = async (memberId: string, { isOperator = false }): Promise<readonly Made[]> => {
    const as = await signIn(running, memberId);
    const all = [
      await newToken(as, 'admin'),
      await newToken(as, 'viewer'),
      await newInvitation(as, 'viewer'),
      await newGrant(memberId),
    ];
    return isOperator ? [...all, ...(await portalMade(as)), await passwordLink(as)] : all;
  };
  const working = async (all: readonly Made[]): Promise<readonly string[]> => {
    const ids: string[] = [];
    for (const { id, works } of all) if (await works()) ids.push(id);
    return ids;
  };

  /** Takes access away from the member. @returns The list in the response, if it has one. */
  async function lose(how: (typeof LOSSES)[number][0], memberId: string): Promise<Listed | undefined> {
    const path = `/accounts/${accountId}/members/${memberId}`;
    const owner = await signIn(running, ownerId);
    const listed = async (answer: Promise<Answer>) => {
      const { status, json } = await answer;
      expect(status).toBe(200);
      return json<Listed>();
    };
    switch (how) {
      case 'is removed by an owner':
        return listed(ask(owner, 'DELETE', path));
      case 'leaves':
        return listed(ask(await signIn(running, memberId), 'DELETE', `/me/accounts/${accountId}`));
      case 'is made a viewer':
      case 'is made a viewer, having been an owner':
        await ask(owner, 'PATCH', path, { role: 'viewer' });
        return undefined;
      case 'is disabled':
      case 'is disabled, being an operator':
        await running.admin.call('PATCH', `/members/${memberId}`, { status: 'disabled' });
        return undefined;
      case 'is forgotten':
      case 'is forgotten, being an operator':
        return running.admin.call<Listed>('DELETE', `/members/${memberId}`);
      case 'is no longer an operator':
        await running.admin.call('PATCH', `/members/${memberId}`, { is_operator: false });
        return undefined;
      case 'is no operator any more by the word of an identity provider': {
        const claim = { provider: 'staff', isOperator: false } as Parameters<typeof applyOperatorClaim>[3];
        const browser = { ip: '127.0.0.1', requestId: 'req_test' } as Parameters<typeof applyOperatorClaim>[4];
        await running.members.accessChanges.run((access) =>
          applyOperatorClaim(access, kind, memberId, claim, browser, running.clock.now()),
        );
        return undefined;
      }
    }
  }

  it.each(LOSSES)('end on every node when the member %s, and the audit log names the cause', async (how, cause, is) => {
    const { role, isOperator } = { role: undefined, isOperator: false, ...is };
    const roles = role === undefined ? {} : { [accountId]: role };
    const memberId = await newMember(database, { roles, isOperator });
    const all = await everythingBy(memberId, { isOperator });
    const ids = all.map(({ id }) => id);
    expect(await working(all)).toEqual(ids);
    const published: Invalidation[] = [];
    running.modules.keys.bus.subscribe((change) => published.push(change));
    const response = await lose(how, memberId);
    expect(await working(all)).toEqual([]);
    expect(response?.ended.map(({ id }) => id).toSorted() ?? ids.toSorted()).toEqual(ids.toSorted());
    const entries = await database.db
      .selectFrom('audit_entry')
      .select(['action', 'target_id', 'after'])
      .where('after', 'like', `%"cause":"${cause}","created_by":"${memberId}"%`)
      .execute();
    expect(entries).toHaveLength(all.length);
    const actions = new Set(entries.map(({ action }) => action));
    const own = ['account_token.revoked', 'api_key.revoked', 'invitation.revoked'];
    const operators = ['member.password_link_revoked', 'portal_session.revoked'];
    expect([...actions].toSorted()).toEqual([...own, ...(isOperator ? operators : [])]);
    // The event makes every node drop the key from its cache.
    const grant = all.find(({ type }) => type === 'oauth_grant')?.id;
    expect(published).toContainEqual({ type: 'api_key', accountId, keyId: grant });
  });

  it('stay valid as long as the member may still create them', async () => {
    const elsewhere = (await running.admin.createAccount({ plan: 'starter' })).id;
    const memberId = await newMember(database, {
      roles: { [accountId]: 'owner', [elsewhere]: 'admin' },
      isOperator: true,
    });
    const as = await signIn(running, memberId);
    const operators = await portalMade(as);
    const [toOwners, toViewers] = [await newInvitation(as, 'owner'), await newInvitation(as, 'viewer')];
    const [ownToken, tokenElsewhere] = [await newToken(as, 'admin'), await newToken(as, 'viewer', elsewhere)];
    const all = [...operators, toOwners, toViewers, ownToken, tokenElsewhere];
    // Operators have all permissions in every account, so nothing ends.
    await running.admin.call('PATCH', `/accounts/${accountId}/members/${memberId}`, { role: 'admin' });
    expect(await working(all)).toEqual(all.map(({ id }) => id));
    // Admins can neither invite owners nor create portal sessions.
    await running.admin.call('PATCH', `/members/${memberId}`, { is_operator: false });
    expect(await working(all)).toEqual([toViewers, ownToken, tokenElsewhere].map(({ id }) => id));
    await running.admin.call('DELETE', `/accounts/${accountId}/members/${memberId}`);
    expect(await working(all)).toEqual([tokenElsewhere.id]);
  });

  it('stay valid if another member or the operator token created them', async () => {
    const memberId = await newMember(database, { roles: { [accountId]: 'admin' } });
    const operator = { Authorization: `Bearer ${running.admin.token}` };
    const owner = await signIn(running, ownerId);
    const all = [
      await newToken(operator, 'admin'),
      await newInvitation(operator, 'viewer'),
      await newToken(owner, 'admin'),
    ];
    await running.admin.call('DELETE', `/members/${memberId}`);
    expect(await working(all)).toEqual(all.map(({ id }) => id));
  });

  it('are revoked if they are created while the member is removed', async () => {
    for (let round = 0; round < 10; round++) {
      const memberId = await newMember(database, { roles: { [accountId]: 'admin' } });
      const as = await signIn(running, memberId);
      const body = { name: 'CI', role: 'admin', expires_at: inADay() };
      const makes = Array.from({ length: 4 }, () => ask(as, 'POST', `/accounts/${accountId}/tokens`, body));
      await Promise.all([...makes, running.admin.call('DELETE', `/accounts/${accountId}/members/${memberId}`)]);
      const live = database.db.selectFrom('account_token').select('id').where('created_by', '=', memberId);
      expect(await live.where('revoked_at', 'is', null).execute()).toEqual([]);
    }
  });

  it('leave no open owner invitation if the member becomes an admin at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const memberId = await newMember(database, { roles: { [accountId]: 'owner' } });
      const as = await signIn(running, memberId);
      const body = { email: `owner-${kind}-${round}@example.com`, role: 'owner' };
      const path = `/accounts/${accountId}/members/${memberId}`;
      await Promise.all([
        ask(as, 'POST', `/accounts/${accountId}/invitations`, body),
        running.admin.call('PATCH', path, { role: 'admin' }),
        ask(as, 'POST', `/accounts/${accountId}/invitations`, { ...body, email: `again-${body.email}` }),
      ]);
      const open = database.db.selectFrom('link').select('id').where('created_by', '=', memberId);
      expect(await open.where('revoked_at', 'is', null).execute()).toEqual([]);
    }
  });

  it('are accepted or gone if an invitation is used while the member is removed, which succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const memberId = await newMember(database, { roles: { [accountId]: 'admin' } });
      const as = await signIn(running, memberId);
      const body = { email: `taken-${kind}-${round}@example.com`, role: 'viewer' };
      const { link } = await made<{ link: string }>(as, `/accounts/${accountId}/invitations`, body);
      running.clock.advance(61_000);
      const taking = { token: link.split('#')[1], name: 'Bea', password: GOOD_PASSWORD };
      const [taken, removed] = await Promise.all([
        ask({ 'Sec-Fetch-Site': 'same-origin' }, 'POST', '/links/take', taking),
        // Removes the member about when hashing the password ends.
        new Promise((resolve) => setTimeout(resolve, 15 + round * 10)).then(() =>
          running.admin.request('DELETE', `/accounts/${accountId}/members/${memberId}`),
        ),
      ]);
      expect([200, 410]).toContain(taken.status);
      expect(removed.status).toBe(200);
    }
  });

  it('are listed by the impact endpoint as by the removal, with the keys and endpoints that stay', async () => {
    const account = (await running.admin.createAccount({ plan: 'starter' })).id;
    const [owner, memberId] = [
      await newMember(database, { roles: { [account]: 'owner' } }),
      await newMember(database, { roles: { [account]: 'admin' } }),
    ];
    const as = await signIn(running, memberId);
    const keyBody = (name: string) => ({ name, scopes: ['customers:read'] });
    const key = await made<{ id: string }>(as, `/accounts/${account}/api-keys`, keyBody('Shop'));
    const revoked = await made<{ id: string }>(as, `/accounts/${account}/api-keys`, keyBody('Old'));
    await running.admin.revokeKey(revoked.id);
    const tokenBody = { name: 'CI', role: 'admin', expires_at: inADay() };
    const token = await made<{ id: string; secret: string }>(as, `/accounts/${account}/tokens`, tokenBody);
    const program = { Authorization: `Bearer ${token.secret}` };
    const byToken = await made<{ id: string }>(program, `/accounts/${account}/api-keys`, keyBody('Pipeline'));
    await running.admin.createKey(account, keyBody('Of the operator'));
    const endpoint = await made<{ id: string }>(as, `/accounts/${account}/webhook-endpoints`, {
      url: 'https://hooks.example.com/in?secret=1',
    });
    const session = await signIn(running, owner);
    const path = `/accounts/${account}/members/${memberId}`;
    const before = (await ask(session, 'GET', `${path}/impact`)).json<Listed>();
    expect(before).toEqual({
      member_id: memberId,
      ended: [{ type: 'account_token', id: token.id, account_id: account, name: 'CI' }],
      kept: [
        { type: 'api_key', id: key.id, account_id: account, name: 'Shop' },
        { type: 'api_key', id: byToken.id, account_id: account, name: 'Pipeline' },
        { type: 'webhook_endpoint', id: endpoint.id, account_id: account, name: 'https://hooks.example.com/in?…' },
      ],
      kept_has_more: false,
    });
    const after = await ask(session, 'DELETE', path);
    expect([after.status, after.json()]).toEqual([200, before]);
    expect((await ask(session, 'GET', `${path}/impact`)).status).toBe(404);
    for (const { id } of [key, byToken]) expect((await running.modules.keyStore.get(id)).status).toBe('active');
  });
});

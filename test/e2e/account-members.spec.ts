/** Inviting, promoting and removing members of an account. Members cannot grant more permissions than they have. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Role } from '../../src/members/permissions.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { GOOD_PASSWORD, newMember, PanelBrowser, signIn, type Credentials } from '../support/signed-in.js';

interface Invitation {
  readonly id: string;
  readonly link: string;
  readonly status: string;
}

describeOnDatabases('the members API', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let ids: Readonly<Record<Role, string>>;
  let sessions: Readonly<Record<Role, Credentials>>;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });
  beforeEach(async () => {
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    const member = (role: Role) => newMember(database, { roles: { [accountId]: role } });
    ids = { owner: await member('owner'), admin: await member('admin'), viewer: await member('viewer') };
    sessions = {
      owner: await signIn(running, ids.owner),
      admin: await signIn(running, ids.admin),
      viewer: await signIn(running, ids.viewer),
    };
  });

  const ask = (as: Role, method: string, path: string, body?: object) =>
    send(`${running.url}/admin/v1${path}`, { method, headers: sessions[as], ...(body === undefined ? {} : { body }) });
  const of = (path: string) => `/accounts/${accountId}${path}`;
  const outcome = async (answer: ReturnType<typeof ask>) => {
    const { status, json } = await answer;
    return status < 300 ? status : json().code;
  };
  const invite = async (as: Role, email: string, role: Role = 'viewer') => {
    const answer = await ask(as, 'POST', of('/invitations'), { email, role });
    expect([email, answer.status]).toEqual([email, 201]);
    return answer.json<Invitation & Record<string, unknown>>();
  };
  const invitationOf = async (id: string) => {
    const list = await running.admin.call<{ data: Invitation[] }>('GET', of('/invitations?limit=100'));
    return list.data.find((each) => each.id === id) ?? { status: 'none' };
  };
  const acceptWith = (link: string, own = new PanelBrowser(running.url)) =>
    own.ask('POST', '/links/take', { token: link.split('#')[1], name: 'Bea', password: GOOD_PASSWORD });

  it('lists members with their roles to a viewer, without password or TOTP fields', async () => {
    const answer = await ask('viewer', 'GET', of('/members'));
    const roles = answer.json<{ data: { id: string; role: Role }[] }>().data.map(({ id, role }) => [id, role]);
    expect(roles).toEqual([
      [ids.owner, 'owner'],
      [ids.admin, 'admin'],
      [ids.viewer, 'viewer'],
    ]);
    expect(answer.text).not.toMatch(/password|totp_secret/);
  });

  it('lets an admin promote a viewer to admin, but not create, demote or remove owners', async () => {
    expect(await outcome(ask('admin', 'PATCH', of(`/members/${ids.viewer}`), { role: 'admin' }))).toBe(200);
    expect(await outcome(ask('admin', 'PATCH', of(`/members/${ids.viewer}`), { role: 'owner' }))).toBe('forbidden');
    expect(await outcome(ask('admin', 'PATCH', of(`/members/${ids.admin}`), { role: 'owner' }))).toBe('forbidden');
    expect(await outcome(ask('admin', 'PATCH', of(`/members/${ids.owner}`), { role: 'viewer' }))).toBe('forbidden');
    expect(await outcome(ask('admin', 'DELETE', of(`/members/${ids.owner}`)))).toBe('forbidden');
    expect(await outcome(ask('admin', 'POST', of('/invitations'), { email: 'x@example.com', role: 'owner' }))).toBe(
      'forbidden',
    );
    expect(await outcome(ask('owner', 'PATCH', of(`/members/${ids.admin}`), { role: 'owner' }))).toBe(200);
  });

  it('applies a new role or a removal from the next request', async () => {
    expect(await outcome(ask('viewer', 'GET', of('/invitations')))).toBe('forbidden');
    await ask('owner', 'PATCH', of(`/members/${ids.viewer}`), { role: 'admin' });
    expect(await outcome(ask('viewer', 'GET', of('/invitations')))).toBe(200);
    await ask('owner', 'DELETE', of(`/members/${ids.viewer}`));
    expect(await outcome(ask('viewer', 'GET', of('/invitations')))).toBe('resource_not_found');
  });

  it('refuses to demote or remove the last active owner, also if two are removed at once', async () => {
    expect(await outcome(ask('owner', 'PATCH', of(`/members/${ids.owner}`), { role: 'admin' }))).toBe('last_owner');
    expect(await outcome(ask('owner', 'DELETE', of(`/members/${ids.owner}`)))).toBe('last_owner');
    const second = await newMember(database, { roles: { [accountId]: 'owner' } });
    await database.db.updateTable('member').set({ status: 'disabled' }).where('id', '=', second).execute();
    expect(await outcome(ask('owner', 'DELETE', of(`/members/${ids.owner}`)))).toBe('last_owner');
    await database.db.updateTable('member').set({ status: 'active' }).where('id', '=', second).execute();
    const both = await Promise.all([
      running.admin.request('DELETE', of(`/members/${ids.owner}`)),
      running.admin.request('DELETE', of(`/members/${second}`)),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  it('shows the link of an invitation once, and marks the invitation as accepted once it is used', async () => {
    const made = await invite('admin', 'bea@example.com', 'admin');
    expect(made.link).toMatch(new RegExp(`^http://localhost:${running.port}/link#[A-Za-z0-9_-]{43}$`));
    const listed = await ask('owner', 'GET', of('/invitations'));
    expect(listed.text).not.toContain(made.link.split('#')[1]);
    expect(listed.json<{ data: Invitation[] }>().data).toMatchObject([{ id: made.id, status: 'open' }]);
    expect((await acceptWith(made.link)).status).toBe(200);
    expect((await ask('owner', 'GET', of('/invitations'))).json()).toMatchObject({ data: [{ status: 'accepted' }] });
    expect(await outcome(ask('owner', 'POST', of('/invitations'), { email: 'BEA@example.com', role: 'viewer' }))).toBe(
      'already_a_member',
    );
    expect(await outcome(ask('owner', 'DELETE', `/invitations/${made.id}`))).toBe('conflict');
  });

  it('invalidates the link of an invitation that is resent, replaced or revoked', async () => {
    const first = await invite('owner', 'cy@example.com');
    const again = (await ask('owner', 'POST', `/invitations/${first.id}/resend`)).json<Invitation>();
    expect((await acceptWith(first.link)).status).toBe(410);
    const other = await invite('owner', 'cy@example.com');
    expect((await acceptWith(again.link)).status).toBe(410);
    expect(await outcome(ask('owner', 'DELETE', `/invitations/${other.id}`))).toBe(200);
    expect(await outcome(ask('owner', 'DELETE', `/invitations/${other.id}`))).toBe(200);
    expect((await acceptWith(other.link)).status).toBe(410);
    expect(await outcome(ask('owner', 'POST', `/invitations/${other.id}/resend`))).toBe('conflict');
  });

  it('limits invitations per hour to 5 per address and 100 per account, except for operators', async () => {
    const again = await invite('admin', 'dot@example.com');
    let { id } = again;
    for (let sent = 1; sent < 5; sent++) {
      id = (await ask('owner', 'POST', `/invitations/${id}/resend`)).json<Invitation>().id;
    }
    const refused = await ask('admin', 'POST', of('/invitations'), { email: 'DOT@example.com', role: 'viewer' });
    expect([refused.status, refused.json().code]).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    expect(await outcome(ask('owner', 'POST', `/invitations/${id}/resend`))).toBe('too_many_requests');
    const { status } = await invitationOf(id);
    expect(status).toBe('open');
    for (let count = 5; count < 100; count++) await invite('owner', `many-${count}@example.com`);
    expect(await outcome(ask('owner', 'POST', of('/invitations'), { email: 'x@example.com', role: 'viewer' }))).toBe(
      'too_many_requests',
    );
    // Operators are exempt from the limits.
    await running.admin.call('POST', of('/invitations'), { email: 'dot@example.com', role: 'viewer' });
    running.clock.advance(3_600_000);
    sessions = { ...sessions, owner: await signIn(running, ids.owner) };
    await invite('owner', 'dot@example.com');
  });

  it('does not let an admin resend or revoke an invitation to become owner', async () => {
    const made = await invite('owner', 'dan@example.com', 'owner');
    expect(await outcome(ask('admin', 'POST', `/invitations/${made.id}/resend`))).toBe('forbidden');
    expect(await outcome(ask('admin', 'DELETE', `/invitations/${made.id}`))).toBe('forbidden');
    expect((await acceptWith(made.link)).status).toBe(200);
  });

  it('revokes open invitations that their sender may no longer make, and keeps the others open', async () => {
    const states = async () => {
      const { data } = await running.admin.call<{ data: { email: string; status: string }[] }>(
        'GET',
        of('/invitations?limit=100'),
      );
      return Object.fromEntries(data.map(({ email, status }) => [email, status]));
    };
    const second = await newMember(database, { roles: { [accountId]: 'owner' } });
    const made = {
      gus: await invite('admin', 'gus@example.com'),
      hal: await invite('owner', 'hal@example.com', 'owner'),
      ida: await invite('owner', 'ida@example.com', 'admin'),
    };
    sessions = { ...sessions, owner: await signIn(running, second) };
    await invite('owner', 'jim@example.com');
    // An admin can invite admins, but not owners.
    expect(await outcome(ask('owner', 'PATCH', of(`/members/${ids.owner}`), { role: 'admin' }))).toBe(200);
    expect(await outcome(ask('owner', 'DELETE', of(`/members/${ids.admin}`)))).toBe(200);
    const [open, revoked] = ['open', 'revoked'];
    const after = { 'gus@example.com': revoked, 'hal@example.com': revoked, 'ida@example.com': open };
    expect(await states()).toEqual({ ...after, 'jim@example.com': open });
    for (const { link } of [made.gus, made.hal]) expect((await acceptWith(link)).status).toBe(410);
    await running.admin.call('PATCH', `/members/${ids.owner}`, { status: 'disabled' });
    expect(await states()).toEqual({ ...after, 'ida@example.com': revoked, 'jim@example.com': open });
    const { data } = await running.admin.auditLog(`?account_id=${accountId}&limit=100`);
    const revocations = data.filter(({ action }) => action === 'invitation.revoked');
    expect(revocations.map(({ target }) => (target as { id: string }).id)).toEqual(
      [made.ida, made.gus, made.hal].map(({ id }) => id),
    );
  });

  it('expires an invitation after 7 days by default, and rejects more than 30', async () => {
    expect(
      await outcome(
        ask('owner', 'POST', of('/invitations'), { email: 'e@example.com', role: 'viewer', expires_in_days: 31 }),
      ),
    ).toBe('validation_failed');
    const { link } = await invite('owner', 'e@example.com');
    running.clock.advance(7 * 86_400_000);
    expect((await acceptWith(link)).status).toBe(410);
  });

  it('rejects invitations to invalid email addresses, and to addresses with line breaks', async () => {
    for (const email of ['a@example.com\r\nBcc: b@example.com', 'no', '', 'a@b', `${'a'.repeat(250)}@example.com`]) {
      expect([email, await outcome(ask('owner', 'POST', of('/invitations'), { email, role: 'viewer' }))]).toEqual([
        email,
        'validation_failed',
      ]);
    }
  });

  it('records member changes in the audit log of the account, without invitation links', async () => {
    const made = await invite('owner', 'fay@example.com');
    await acceptWith(made.link);
    await ask('owner', 'PATCH', of(`/members/${ids.viewer}`), { role: 'admin' });
    await ask('owner', 'DELETE', of(`/members/${ids.viewer}`));
    const log = await ask('owner', 'GET', `/audit-log?account_id=${accountId}&limit=100`);
    expect(log.text).not.toContain(made.link.split('#')[1]);
    const { data } = log.json<{ data: { action: string; actor: string }[] }>();
    const actions = data.map(({ action, actor }) => [action, actor === ids.owner ? 'owner' : 'other']);
    expect(actions).toEqual(
      expect.arrayContaining([
        ['invitation.created', 'owner'],
        ['member.joined', 'other'],
        ['member.role_changed', 'owner'],
        ['member.removed', 'owner'],
      ]),
    );
  });
});

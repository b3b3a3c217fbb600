/** Mass assignment: no operation accepts a role, an owner, an ID or a status that it does not document. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newWebhook } from '../support/webhook-endpoints.js';
import { newMember, signIn, type Credentials } from '../support/signed-in.js';

type Schema = Readonly<Record<string, unknown>>;

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
}

/** Fields that an attacker would like to set. */
const SMUGGLED = {
  id: 'acc_0000000000000000000000000',
  account_id: 'acc_0000000000000000000000000',
  member_id: 'mem_0000000000000000000000000',
  created_by: 'operator',
  role: 'owner',
  roles: ['owner'],
  is_operator: true,
  isOperator: true,
  is_admin: true,
  status: 'active',
  version: 1_000,
  plan: 'pro',
  secret: 'x'.repeat(43),
  password_hash: 'x',
  email_verified: true,
  confirmed_at: 4_000_000_000_000,
  totp_confirmed_at: null,
};

/** Codes of callers without permission. They do not learn what is wrong with the body. */
const REFUSED_BEFORE: ReadonlySet<string> = new Set(['forbidden', 'resource_not_found']);

/**
 * Objects with names that we do not choose. A browser's passkey response is read by name, and nothing else is kept.
 * Callers choose the names of `metadata`. `records` of an import are checked one by one, so that a bad one fails alone.
 */
const OPEN_OBJECTS = new Set(['response', 'passkey', 'metadata', 'records']);

describeOnDatabases('a request body', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let operations: readonly Operation[];
  let schemas: Readonly<Record<string, Schema>>;
  let paths: ReadonlyMap<string, string>;
  let own: Credentials;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    const { admin } = running;
    const { account, key } = await admin.newKey('starter');
    const invited = { email: 'bea@example.com', role: 'viewer' };
    const invitation = await admin.call<{ id: string }>('POST', `/accounts/${account.id}/invitations`, invited);
    const { endpoint, delivery, event } = await newWebhook(running, account.id);
    const memberId = await newMember(database, { roles: { [account.id]: 'owner' } });
    own = await signIn(running, memberId);
    paths = new Map([
      ['accounts', account.id],
      ['api-keys', key.id],
      ['invitations', invitation.id],
      ['webhook-endpoints', endpoint],
      ['webhook-deliveries', delivery],
      ['events', event],
      ['members', memberId],
    ]);
    const document = await admin.call<{
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, Schema> };
    }>('GET', '/openapi.json');
    schemas = document.components.schemas;
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .map(([method, described]) => ({ ...described, method: method.toUpperCase(), path }))
        .filter(({ requestBody }) => requestBody !== undefined),
    );
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const schemaOf = ({ requestBody }: Operation): Schema => resolved(requestBody?.content?.['application/json']?.schema);
  const resolved = (schema: Schema = {}): Schema => {
    const name = typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : undefined;
    return name === undefined ? schema : (schemas[name] ?? {});
  };

  /** Returns the objects in a schema that accept unknown fields. */
  function openObjects(schema: Schema, at: string): string[] {
    const { type, properties = {}, additionalProperties, items, anyOf = [], oneOf = [], allOf = [] } = resolved(schema);
    const isOpen = type === 'object' && additionalProperties !== false;
    const inside = Object.entries(properties as Record<string, Schema>).flatMap(([name, each]) =>
      OPEN_OBJECTS.has(name) ? [] : openObjects(each, `${at}.${name}`),
    );
    const others = [items, ...(anyOf as Schema[]), ...(oneOf as Schema[]), ...(allOf as Schema[])];
    return [
      ...(isOpen ? [at] : []),
      ...inside,
      ...others.flatMap((each) => (each === undefined ? [] : openObjects(each as Schema, at))),
    ];
  }

  it('is documented without additional properties in all of its objects', () => {
    expect(operations.length).toBeGreaterThan(25);
    expect(operations.flatMap((operation) => openObjects(schemaOf(operation), operation.operationId))).toEqual([]);
  });

  it('with undocumented fields is rejected, for operators and owners, and changes nothing', async () => {
    const rows = async () =>
      JSON.stringify([
        await database.db
          .selectFrom('member')
          .select(['id', 'is_operator', 'version', 'status'])
          .orderBy('id')
          .execute(),
        await database.db.selectFrom('account_member').selectAll().orderBy('member_id').execute(),
        await database.db.selectFrom('audit_entry').select('id').orderBy('id').execute(),
        await database.db.selectFrom('account').selectAll().orderBy('id').execute(),
      ]);
    const before = await rows();
    const wrong: unknown[] = [];
    for (const operation of operations) {
      const { method, path, operationId } = operation;
      const known = new Set(Object.keys((schemaOf(operation)['properties'] as Schema | undefined) ?? {}));
      const smuggled = Object.entries(SMUGGLED).filter(([name]) => !known.has(name));
      // These requests name their account or key in the body.
      const whoses: Partial<Record<string, object>> = {
        explain: { api_key_id: paths.get('api-keys') },
        approveAuthorizationRequest: { account_id: paths.get('accounts') },
      };
      const whose = whoses[operationId] ?? {};
      const body = { ...whose, ...Object.fromEntries(smuggled) };
      const url =
        running.url +
        path.replaceAll(/([\w-]+)\/\{\w+\}/g, (_all, name: string) => `${name}/${paths.get(name) ?? 'nothing'}`);
      for (const headers of [{ Authorization: `Bearer ${ADMIN_TOKEN}` }, own]) {
        running.clock.advance(100);
        const answer = await send(url, { method, headers: { 'Sec-Fetch-Site': 'same-origin', ...headers }, body });
        const { code, errors = [] } = answer.json<{ code: string; errors?: { pointer: string }[] }>();
        const named = new Set(errors.map(({ pointer }) => pointer));
        const missing = smuggled.map(([name]) => name).filter((name) => !named.has(`#/${name}`));
        const isRefused = code === 'validation_failed' ? missing.length === 0 : REFUSED_BEFORE.has(code);
        if (!isRefused) wrong.push([operationId, answer.status, code, missing]);
      }
    }
    expect(wrong).toEqual([]);
    expect(await rows()).toBe(before);
  });

  it.each(['{"__proto__":{"is_operator":true}}', '{"constructor":{"prototype":{"is_operator":true}}}'])(
    'that tries prototype pollution is rejected: %s',
    async (body) => {
      const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' };
      const answer = await send(`${running.url}/admin/v1/accounts`, { method: 'POST', headers, body });
      expect([answer.status, answer.json().code]).toEqual([400, 'bad_request']);
      expect(({} as { is_operator?: boolean }).is_operator).toBeUndefined();
    },
  );
});

/** The example backend for customers, run as a program with real sockets and SQLite. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sqliteStore, type CustomerStore } from '../support/customer-stores.js';
import { CustomersClient, type CustomerBody, type PageBody } from '../support/customers-client.js';
import { startCustomers, type RunningCustomers } from '../support/customers.js';

interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly fields?: { field?: string; parameter?: string; message: string }[];
  };
}

const FIRST = 'acc_first';
const SECOND = 'acc_second';
const SEEDS = { CUSTOMERS_SEED_ACCOUNTS: `${FIRST},${SECOND}` };
const idsOf = (customers: readonly CustomerBody[]) => customers.map(({ id }) => id);
const newestFirst = (a: CustomerBody, b: CustomerBody) =>
  a.created_at === b.created_at ? (a.id < b.id ? 1 : -1) : a.created_at < b.created_at ? 1 : -1;

describe('the customers backend', () => {
  let store: CustomerStore;
  let backend: RunningCustomers;
  let first: CustomersClient;
  let second: CustomersClient;
  const of = (accountId: string) => new CustomersClient(backend.url, accountId);

  beforeAll(async () => {
    store = await sqliteStore();
    backend = await startCustomers({ ...store.env, ...SEEDS });
    [first, second] = [of(FIRST), of(SECOND)];
  });

  afterAll(async () => {
    await backend.stop();
    await store.drop();
  });

  describe('the list', () => {
    it('yields all 10,000 seeded customers exactly once, newest first, through next_cursor', async () => {
      const all = await first.walk();
      expect(all).toHaveLength(10_000);
      expect(new Set(idsOf(all)).size).toBe(10_000);
      expect(idsOf(all)).toEqual(idsOf(all.toSorted(newestFirst)));
    });

    it('yields the same through the Link header, which has the address that the client sees', async () => {
      const found: string[] = [];
      const forwarded = {
        'x-forwarded-prefix': '/api/v1',
        'x-forwarded-host': 'api.example.com',
        'x-forwarded-proto': 'https',
      };
      let path: string | undefined = '/customers?limit=9&search=a';
      while (path !== undefined) {
        const page: { headers: Headers; body: PageBody } = await second.send<PageBody>(
          'GET',
          path,
          undefined,
          forwarded,
        );
        found.push(...idsOf(page.body.data));
        const link: RegExpExecArray | null =
          /^<https:\/\/api\.example\.com\/api\/v1(\/customers\?.+)>; rel="next"$/.exec(page.headers.get('link') ?? '');
        expect(link !== null).toBe(page.body.has_more);
        path = link?.[1];
      }
      expect(found.length).toBeGreaterThan(9);
      expect(found).toEqual(idsOf(await second.walk({ search: 'a' })));
    });

    it('yields every remaining customer exactly once while others are created and deleted', async () => {
      const own = of('acc_busy');
      for (let i = 0; i < 30; i++) await own.create(`stays-${i}@example.com`);
      const leaving = await own.create('leaves@example.com');
      const seen: CustomerBody[] = [];
      let page = (await own.get('/customers?limit=7')).body;
      seen.push(...page.data);
      await own.send('DELETE', `/customers/${leaving.body.id}`);
      await own.send('DELETE', `/customers/${page.data.at(-1)?.id}`);
      for (let i = 0; page.next_cursor !== null; i++) {
        await own.create(`comes-${i}@example.com`);
        page = (await own.get(`/customers?limit=7&cursor=${page.next_cursor}`)).body;
        seen.push(...page.data);
      }
      const stayed = seen.filter(({ email }) => email.startsWith('stays'));
      expect(new Set(idsOf(stayed)).size).toBe(30);
      expect(stayed).toHaveLength(30);
    });

    it('yields exactly the customers that match the filters', async () => {
      const all = await first.walk();
      const [from, to] = ['2025-06-01T00:00:00.000Z', '2025-07-01T00:00:00.000Z'];
      const email = all[4_321]?.email ?? '';
      const cases: [Record<string, string>, (customer: CustomerBody) => boolean][] = [
        [{ status: 'lead' }, (one) => one.status === 'lead'],
        [{ activity: 'kayaking' }, (one) => one.activities.includes('kayaking')],
        [{ created_after: from, created_before: to }, (one) => one.created_at >= from && one.created_at < to],
        [{ email: email.toUpperCase() }, (one) => one.email === email],
        [
          { activity: 'climbing', status: 'active', created_after: from },
          (one) => one.activities.includes('climbing') && one.status === 'active' && one.created_at >= from,
        ],
      ];
      for (const [filters, matches] of cases) {
        const expected = idsOf(all.filter(matches));
        expect(expected.length).toBeGreaterThan(0);
        expect(idsOf(await first.walk(filters))).toEqual(expected);
      }
    });

    it('finds customers by parts of name and email, regardless of case and accents', async () => {
      const own = of('acc_search');
      await own.create('weiss@example.com', { first_name: 'Jürgen', last_name: 'Weiß' });
      await own.create('zk@example.com', { first_name: 'Žiga', last_name: 'Kovačič' });
      await own.create('odd_100%@example.com', { first_name: 'Élodie', last_name: "O'Brien" });
      const found = async (search: string) => (await own.walk({ search })).map(({ email }) => email);
      expect(await found('JURG weiss')).toEqual(['weiss@example.com']);
      expect(await found('KOVAČ ŽIGA')).toEqual(['zk@example.com']);
      expect(await found('kovacic')).toEqual(['zk@example.com']);
      expect(await found("o'b")).toEqual(['odd_100%@example.com']);
      expect(await found('d_1')).toEqual(['odd_100%@example.com']);
      expect(await found('100%')).toEqual(['odd_100%@example.com']);
      expect(await found('e_o')).toEqual([]);
      expect(await found('weiss nobody')).toEqual([]);
      expect(await found('%')).toEqual(['odd_100%@example.com']);
    });

    it('refuses a cursor of other filters or another account, or one that was changed', async () => {
      const { body } = await first.get('/customers?status=active&limit=5');
      const cursor = body.next_cursor ?? '';
      const wrong = ['status=lead&', 'status=active&search=a&', ''].map((filters) =>
        first.get<ErrorBody>(`/customers?${filters}cursor=${cursor}`),
      );
      wrong.push(second.get<ErrorBody>(`/customers?status=active&cursor=${cursor}`));
      wrong.push(first.get<ErrorBody>(`/customers?status=active&cursor=${cursor.slice(0, -2)}AA`));
      wrong.push(first.get<ErrorBody>('/customers?cursor='));
      for (const answer of await Promise.all(wrong)) {
        expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_cursor']);
      }
      expect((await first.get(`/customers?limit=50&status=active&cursor=${cursor}`)).status).toBe(200);
    });

    it('reports every invalid parameter', async () => {
      const { status, body } = await first.get<ErrorBody>('/customers?limit=101&status=new&page=2');
      expect(status).toBe(400);
      expect(body.error.code).toBe('invalid_parameter');
      expect(body.error.fields?.map(({ parameter }) => parameter)).toEqual(['limit', 'status', 'page']);
    });
  });

  describe('an account', () => {
    it('can read and change only its own customers', async () => {
      const theirs = (await second.get('/customers?limit=1')).body.data[0];
      const path = `/customers/${theirs?.id}`;
      const attempts = [
        await first.get<ErrorBody>(path),
        await first.send<ErrorBody>('PATCH', path, { notes: 'mine now' }),
        await first.send<ErrorBody>('PATCH', path, {}),
        await first.send<ErrorBody>('DELETE', path),
      ];
      expect(attempts.map(({ status, body }) => [status, body.error.code])).toEqual(
        attempts.map(() => [404, 'customer_not_found']),
      );
      expect((await second.get(path)).body).toEqual(theirs);
      expect(await first.walk({ email: theirs?.email ?? '' })).not.toContainEqual(theirs);
      expect(await of('acc_empty').walk()).toEqual([]);
    });

    it('can have a customer with an email address that another account also has', async () => {
      const { email } = (await second.get('/customers?limit=1')).body.data[0] ?? { email: '' };
      expect((await of('acc_same_email').create(email)).status).toBe(201);
    });

    it.each([[''], ['a b'], ['a,b'], ['x'.repeat(200)]])(
      'is required: X-Account-Id %j is refused',
      async (accountId) => {
        const { status, body } = await of(accountId).get<ErrorBody>('/customers');
        expect([status, body.error.code]).toEqual([401, 'missing_account']);
      },
    );

    it('is required: a missing X-Account-Id is refused, except for the health check', async () => {
      expect((await fetch(`${backend.url}/customers`)).status).toBe(401);
      expect(await (await fetch(`${backend.url}/health`)).json()).toEqual({ status: 'ok' });
    });
  });

  describe('a customer', () => {
    it('is created, read, changed and deleted', async () => {
      const own = of('acc_life');
      const created = await own.create('Anna@Example.com', {
        emergency_contact: { name: 'Otto', phone: '+436641234567' },
        language: 'de-at',
      });
      expect(created.status).toBe(201);
      expect(created.headers.get('location')).toBe(`/customers/${created.body.id}`);
      expect(created.body).toMatchObject({
        email: 'anna@example.com',
        status: 'lead',
        language: 'de-AT',
        phone: null,
        activities: [],
      });
      const path = `/customers/${created.body.id}`;
      expect((await own.get(path)).body).toEqual(created.body);

      const changed = await own.send<CustomerBody>('PATCH', path, {
        status: 'active',
        activities: ['rafting'],
        emergency_contact: null,
      });
      expect(changed.body).toEqual({
        ...created.body,
        status: 'active',
        activities: ['rafting'],
        emergency_contact: null,
        updated_at: changed.body.updated_at,
      });
      expect((await own.send<CustomerBody>('PATCH', path, {})).body).toEqual(changed.body);
      expect((await own.get(path)).body).toEqual(changed.body);

      const deleted = await own.send('DELETE', path, undefined, { 'content-type': 'application/json' });
      expect([deleted.status, deleted.body]).toEqual([204, undefined]);
      expect((await own.get(path)).status).toBe(404);
      expect((await own.send('DELETE', path)).status).toBe(404);
    });

    it('is found under its new name immediately', async () => {
      const own = of('acc_rename');
      const { body } = await own.create('anna@example.com');
      await own.send('PATCH', `/customers/${body.id}`, { last_name: 'Gruber' });
      expect(await own.walk({ search: 'huber' })).toEqual([]);
      expect(idsOf(await own.walk({ search: 'gruber' }))).toEqual([body.id]);
    });

    it('keeps every character that was sent', async () => {
      const notes = `🚣 Ötztal "quoted" \\ backslash\n\t' -- ; drop table customer; %_ 日本語`;
      const { body } = await of('acc_text').create('text@example.com', { notes, first_name: "D'Ångelo" });
      expect((await of('acc_text').get<CustomerBody>(`/customers/${body.id}`)).body).toMatchObject({
        notes,
        first_name: "D'Ångelo",
      });
    });

    it('has an email address that is unique within its account, regardless of case', async () => {
      const own = of('acc_unique');
      await own.create('taken@example.com');
      const other = await own.create('other@example.com');
      const refused = await own.send<ErrorBody>('POST', '/customers', {
        first_name: 'A',
        last_name: 'B',
        email: 'TAKEN@example.com',
      });
      expect([refused.status, refused.body.error.code]).toEqual([409, 'email_taken']);
      const patched = await own.send<ErrorBody>('PATCH', `/customers/${other.body.id}`, { email: 'taken@example.com' });
      expect([patched.status, patched.body.error.fields?.[0]?.field]).toEqual([409, 'email']);
      expect((await own.send('PATCH', `/customers/${other.body.id}`, { email: 'other@example.com' })).status).toBe(200);
    });

    it('is created only once by twenty simultaneous requests', async () => {
      const own = of('acc_race');
      const answers = await Promise.all(Array.from({ length: 20 }, () => own.create('race@example.com')));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
      expect(await own.walk()).toHaveLength(1);
    });

    it('keeps all simultaneous changes to different fields', async () => {
      const own = of('acc_parallel');
      const { body } = await own.create('parallel@example.com');
      const fields = [
        { notes: 'a' },
        { last_name: 'B' },
        { status: 'inactive' },
        { phone: '+436641234567' },
        { language: 'it' },
      ];
      await Promise.all(fields.map((change) => own.send('PATCH', `/customers/${body.id}`, change)));
      expect((await own.get(`/customers/${body.id}`)).body).toMatchObject(Object.assign({}, ...fields));
    });
  });

  describe('a bad request', () => {
    it('gets every invalid field reported, and stores nothing', async () => {
      const own = of('acc_wrong');
      const { status, body } = await own.send<ErrorBody>('POST', '/customers', {
        first_name: '',
        email: 'x',
        emergency_contact: { name: 'Otto', phone: '1' },
        notes: 'a\u0000b',
      });
      expect(status).toBe(422);
      expect(body.error).toEqual({
        code: 'validation_failed',
        message: '5 fields are not valid.',
        fields: [
          { field: 'first_name', message: 'must not be empty' },
          { field: 'last_name', message: 'is required' },
          { field: 'email', message: 'must be an email address, for example anna@example.com' },
          {
            field: 'emergency_contact.phone',
            message: 'must be a phone number in E.164 form, for example +436641234567',
          },
          { field: 'notes', message: 'must not contain control characters' },
        ],
      });
      expect(await own.walk()).toEqual([]);
    });

    it.each<[string, string, string, unknown, string, number, string]>([
      ['broken JSON', 'POST', '/customers', '{"email":', 'application/json', 400, 'malformed_json'],
      ['a prototype key', 'POST', '/customers', '{"__proto__":{"id":"x"}}', 'application/json', 400, 'malformed_json'],
      ['no body', 'POST', '/customers', '', 'application/json', 400, 'invalid_body'],
      ['an array', 'POST', '/customers', '[]', 'application/json', 400, 'invalid_body'],
      [
        'a body over 100 KB',
        'POST',
        '/customers',
        { notes: 'x'.repeat(110_000) },
        'application/json',
        413,
        'body_too_large',
      ],
      [
        'text in Latin-1',
        'POST',
        '/customers',
        Buffer.from('{"a":"J\xf6rg"}', 'latin1'),
        'application/json',
        400,
        'malformed_json',
      ],
      [
        'another charset',
        'POST',
        '/customers',
        '{}',
        'application/json; charset=iso-8859-1',
        415,
        'unsupported_media_type',
      ],
      [
        'half a surrogate pair',
        'POST',
        '/customers',
        '{"first_name":"\\ud83d"}',
        'application/json',
        422,
        'validation_failed',
      ],
      ['a form', 'POST', '/customers', 'email=x', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
      ['plain text', 'POST', '/customers', 'x', 'text/plain', 415, 'unsupported_media_type'],
      ['an unknown path', 'GET', '/nothing', undefined, '', 404, 'route_not_found'],
      ['another method', 'PUT', '/customers', {}, 'application/json', 404, 'route_not_found'],
      ['an id of another form', 'GET', '/customers/1', undefined, '', 404, 'customer_not_found'],
      ['an id with a NUL', 'GET', '/customers/cus_%00', undefined, '', 404, 'customer_not_found'],
      ['a path that does not decode', 'GET', '/customers/%ff', undefined, '', 400, 'bad_request'],
    ])('with %s gets its own code', async (_, method, path, sent, type, status, code) => {
      const answer = await first.send<ErrorBody>(method, path, sent, type === '' ? {} : { 'content-type': type });
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    });
  });

  describe('another process on the same database', () => {
    it('does not seed again, reads and writes beside the first, and continues its cursors', async () => {
      const other = await startCustomers({ ...store.env, ...SEEDS });
      try {
        const there = new CustomersClient(other.url, SECOND);
        expect(idsOf(await there.walk())).toEqual(idsOf(await second.walk()));
        const { body } = await second.get('/customers?limit=20');
        expect((await there.get(`/customers?limit=100&cursor=${body.next_cursor}`)).body.data).toHaveLength(30);
        const together = [first, new CustomersClient(other.url, FIRST)].flatMap((client, process) =>
          Array.from({ length: 40 }, (__, i) => client.create(`both-${process}-${i}@example.com`)),
        );
        expect(new Set((await Promise.all(together)).map(({ status }) => status))).toEqual(new Set([201]));
        const made = await first.walk({ search: 'both-' });
        expect(made).toHaveLength(80);
        const changes = made.map(({ id }, i) =>
          (i % 2 === 0 ? first : new CustomersClient(other.url, FIRST)).send('PATCH', `/customers/${id}`, {
            notes: 'x',
          }),
        );
        expect(new Set((await Promise.all(changes)).map(({ status }) => status))).toEqual(new Set([200]));
      } finally {
        await other.stop();
      }
    });
  });
});

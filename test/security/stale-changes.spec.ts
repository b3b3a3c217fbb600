/** Attack: a change to an outdated version that evades `If-Match` by its notation. On both databases. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import http from 'node:http';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

type Fields = readonly string[];

/** Notations of an outdated version. `old` is its ETag, and `now` is the current one. */
const WAYS: readonly (readonly [string, (old: string, now: string) => Fields])[] = [
  ['as it was given out', (old) => ['If-Match', old]],
  ['in small letters', (old) => ['if-match', old]],
  ['with white space around', (old) => ['If-Match', ` \t${old}\t `]],
  ['weak', (old) => ['If-Match', `W/${old}`]],
  ['weak, of now', (_, now) => ['If-Match', `W/${now}`]],
  ['beside a weak one of now', (old, now) => ['If-Match', `${old}, W/${now}`]],
  ['beside a star', (old) => ['If-Match', `${old}, *`]],
  ['behind a star', (old) => ['If-Match', `*, ${old}`]],
  ['twice, with a star', (old) => ['If-Match', old, 'If-Match', '*']],
  ['as nothing', () => ['If-Match', '']],
  ['as white space', () => ['If-Match', ' ']],
  ['as an empty tag', () => ['If-Match', '""']],
  ['without quotes', () => ['If-Match', '2']],
  ['as zero', () => ['If-Match', '"0"']],
  ['below zero', () => ['If-Match', '"-1"']],
  ['with a sign', () => ['If-Match', '"+2"']],
  ['as a fraction', () => ['If-Match', '"2e0"']],
  ['in base sixteen', () => ['If-Match', '"0x2"']],
  ['as a number beyond all', () => ['If-Match', `"${'9'.repeat(30)}"`]],
  ['a hundred times', (old) => ['If-Match', Array.from({ length: 100 }, () => old).join(', ')]],
  ['with half a quote', (old) => ['If-Match', old.slice(0, -1)]],
  ['with text behind', (old) => ['If-Match', `${old}; x`]],
  [
    'together with the fields that count less',
    (old) => ['If-Match', old, 'If-None-Match', old, 'If-Unmodified-Since', 'Fri, 31 Dec 2100 00:00:00 GMT'],
  ],
];
/** Changes that would overwrite the change of someone else. */
const CHANGES: readonly (readonly [method: string, action: string, body: object | undefined])[] = [
  ['PATCH', '', { name: 'Mine' }],
  ['DELETE', '', undefined],
  ['POST', '/pause', undefined],
  ['POST', '/rotate', { overlap_seconds: 0 }],
];

describeOnDatabases('a change to an outdated version', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let key: ApiKeyWithSecret;
  let accountId: string;
  let old: string;
  let now: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  beforeEach(async () => {
    key = await running.admin.createKey(accountId, { name: 'Shop' });
    old = await etag();
    await running.admin.call('PATCH', `/api-keys/${key.id}`, { name: 'Theirs' });
    now = await etag();
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const etag = async () => String((await running.admin.request('GET', `/api-keys/${key.id}`)).headers['etag']);

  /** Sends a request with exactly these headers. A usual client would join, trim or refuse some of them. */
  function ask(method: string, path: string, body: object | undefined, fields: Fields): Promise<[number, string]> {
    const bytes = body === undefined ? '' : JSON.stringify(body);
    const length = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(bytes))];
    const own = ['Host', `localhost:${running.port}`, 'Authorization', `Bearer ${ADMIN_TOKEN}`, 'Connection', 'close'];
    const headers = [...own, ...(body === undefined ? [] : length), ...fields];
    return new Promise((done, fail) => {
      const url = `${running.url}/admin/v1${path}`;
      const request = http.request(url, { method, headers, agent: false, setDefaultHeaders: false }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => done([response.statusCode ?? 0, text]));
      });
      request.on('error', fail).end(bytes);
    });
  }

  it.each(WAYS)('is refused with its version written %s, for every kind of change', async (_way, fieldsOf) => {
    for (const [method, action, body] of CHANGES) {
      const [status, text] = await ask(method, `/api-keys/${key.id}${action}`, body, fieldsOf(old, now));
      expect([method, action, [400, 412].includes(status) ? 'refused' : text]).toEqual([method, action, 'refused']);
    }
    const kept = { name: 'Theirs', status: 'active', version: 2, hint: key.hint };
    expect(await running.admin.getKey(key.id)).toMatchObject(kept);
  });

  it('is refused despite a version in body, query or header, or another method', async () => {
    const path = `/api-keys/${key.id}`;
    const tries: readonly (readonly [string, string, object, Fields])[] = [
      ['PATCH', path, { name: 'Mine', version: 2 }, ['If-Match', old]],
      ['PATCH', `${path}?version=2`, { name: 'Mine' }, ['If-Match', old]],
      ['PATCH', path, { name: 'Mine' }, ['If-Match', old, 'X-If-Match', now]],
      ['POST', path, { name: 'Mine' }, ['If-Match', old, 'X-HTTP-Method-Override', 'PATCH']],
      ['PUT', path, { name: 'Mine' }, ['If-Match', old]],
    ];
    for (const [method, at, body, fields] of tries) {
      const [status] = await ask(method, at, body, fields);
      expect([method, at, status >= 400 && status < 500]).toEqual([method, at, true]);
    }
    expect(await running.admin.getKey(key.id)).toMatchObject({ name: 'Theirs', version: 2 });
  });

  it('is refused, but valid notations of the current version are accepted', async () => {
    const good: readonly Fields[] = [
      ['If-Match', now],
      ['if-match', ` ${now} `],
      ['If-Match', `${old}, ${now}`],
    ];
    for (const [index, fields] of good.entries()) {
      const version = index + 3;
      const of = fields.map((field) => field.replace(now, `"${version - 1}"`));
      const [status] = await ask('PATCH', `/api-keys/${key.id}`, { name: `Mine ${index}` }, of);
      expect([index, status]).toEqual([index, 200]);
    }
    expect(await running.admin.getKey(key.id)).toMatchObject({ name: 'Mine 2', version: 5 });
  });
});

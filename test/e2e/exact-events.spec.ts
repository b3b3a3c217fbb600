/** An event is delivered and listed exactly as it was sent, or refused. The admin API refuses ambiguous JSON. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, type Backend } from '../support/backend.js';
import { EMITTING, JSON_FIELDS, responseWithLength, type Say } from '../support/emitting.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { BROKEN, DOCUMENT, saidBy } from '../support/random-json.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';

const TOKEN = 'token-of-the-exact-service-0123456789';
const BATCHES = 300;
const BATCH = 30;
const BROKEN_RUNS = 1_000;

let backend: Backend;
let receiver: Receiver;
let trailgate: SharedTrailgate;
let accountId: string;
let key: ApiKeyWithSecret;
let says: Say = responseWithLength('{}');
beforeAll(async () => {
  [backend, receiver] = await Promise.all([startBackend((_request, response) => says(response)), startReceiver()]);
  const config = {
    ...EMITTING,
    services: { backend: { eventsToken: TOKEN } },
    events: { 'customer.created': {}, 'customer.deleted': {} },
  };
  trailgate = await acquireTrailgate({ backend: backend.url, config });
  const made = await trailgate.admin.newKey('pro');
  ({ key } = made);
  accountId = made.account.id;
  const endpoint = { url: `${receiver.url}/hook`, event_types: ['customer.*'] };
  await trailgate.admin.call('POST', `/accounts/${accountId}/webhook-endpoints`, endpoint);
});
afterAll(async () => {
  await trailgate?.stop();
  await backend?.stop();
  receiver?.stop();
});

interface Answer {
  readonly data: readonly { readonly event_id: string; readonly duplicate: boolean }[];
  readonly detail: string;
}

/** Sends one event with exactly these bytes as its data. */
async function sendEvent(id: string, data: string | Buffer, headers: Record<string, string> = {}) {
  const begin = `{"events":[{"id":"${id}","type":"customer.created","account_id":"${accountId}","data":`;
  return post(Buffer.concat([Buffer.from(begin), Buffer.from(data as string), Buffer.from('}]}')]), headers);
}

const post = async (body: Buffer, headers: Record<string, string> = {}) => {
  const all = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers };
  return send(`${trailgate.adminUrl}/internal/v1/events`, { method: 'POST', headers: all, body });
};

/** Returns the data of a webhook or of an event as raw text. */
const dataIn = (text: string): string => /"data":(\{.*?\})(?:,"occurred_at".*)?\}$/s.exec(text)?.[1] ?? '';

async function delivered(eventId: string): Promise<string> {
  const found = () => receiver.received.find((one) => one.id === eventId);
  await eventually('the event is delivered', () => found() !== undefined);
  return dataIn(found()!.body);
}

async function listed(eventId: string): Promise<string> {
  const { text } = await send(`${trailgate.adminUrl}/admin/v1/events/${eventId}`, {
    headers: { authorization: `Bearer ${trailgate.adminToken}` },
  });
  return dataIn(text);
}

describe('an event that a service sends', () => {
  it('keeps the digits of its numbers, in the webhook and in the list', async () => {
    const data = '{"id":9007199254740993123,"price":1.10,"of":[1e400,-0.0,{"n":0.10000000000000000555}]}';
    const answer = await sendEvent('digits', data);
    const eventId = answer.json<Answer>().data[0]!.event_id;
    expect([answer.status, await delivered(eventId), await listed(eventId)]).toEqual([202, data, data]);
  });

  it('is a duplicate if its numbers are equal, and a conflict if they differ', async () => {
    const first = await sendEvent('again', '{"n":1.10,"id":9007199254740993123}');
    const again = await sendEvent('again', '{"id":9007199254740993123.0,"n":11E-1}');
    expect([first.status, again.status, again.json<Answer>().data[0]?.duplicate]).toEqual([202, 202, true]);
    const other = await sendEvent('again', '{"n":1.10,"id":9007199254740993000}');
    expect([other.status, other.json<{ code: string }>().code]).toEqual([409, 'event_conflict']);
  });

  it.each([
    ['in Latin-1', Buffer.from('{"a":"J\xf6rg"}', 'latin1'), {}, 400, 'The body is not UTF-8.'],
    ['with half a surrogate pair', '{"a":"\\ud83d"}', {}, 400, 'The body has half of a surrogate pair in a text.'],
    ['with a name twice', '{"a":1,"b":{"a":1},"a":2}', {}, 400, 'The body has the name "a" twice in one object.'],
    [
      'with __proto__',
      '{"__proto__":1}',
      {},
      400,
      'The body must not have the name `__proto__`, or `prototype` in `constructor`.',
    ],
    ['with NUL', '{"a":["\\u0000"]}', {}, 400, 'The request must not contain the character U+0000.'],
    ['that breaks off', '{"a":1', {}, 400, expect.stringMatching(/^The body is not valid JSON: look at position \d+/)],
    [
      'of another charset',
      '{}',
      { 'content-type': 'application/json; charset=iso-8859-1' },
      415,
      expect.stringContaining('UTF-8'),
    ],
    [
      'of a type that is no JSON',
      '{}',
      { 'content-type': 'text/plain' },
      415,
      expect.stringContaining('application/json'),
    ],
    ['with too much data', `{"a":"${'x'.repeat(300_000)}"}`, {}, 422, expect.any(String)],
    ['with far too much data', `{"a":"${'x'.repeat(1_100_000)}"}`, {}, 413, expect.any(String)],
  ])('%s is refused', async (_what, data, headers: Record<string, string>, status, detail) => {
    const answer = await sendEvent('refused', data, headers);
    expect([answer.status, answer.json<Answer>().detail]).toEqual([status, detail]);
  });

  it('can declare UTF-8 as its charset, and must not be compressed', async () => {
    expect((await sendEvent('utf8', '{}', { 'content-type': 'application/json; charset="UTF-8"' })).status).toBe(202);
    const answer = await post(gzipSync('{"events":[]}'), { 'content-encoding': 'gzip' });
    expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'identity']);
    expect(answer.json<Answer>().detail).toBe('Send the body without a Content-Encoding.');
  });
});

describe('a response that becomes an event', () => {
  const call = () =>
    send(`${trailgate.gatewayUrl}/api/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}` },
    });
  const last = async () => {
    const path = `/accounts/${accountId}/events?limit=1`;
    const { data } = await trailgate.admin.call<{ data: { id: string; resource: string | null }[] }>('GET', path);
    return data[0]!;
  };

  it('keeps the digits of its numbers, also in the resource ID', async () => {
    says = responseWithLength('{"id":1234567890123456789,"price":1.10}');
    await call();
    const { id, resource } = await last();
    expect(resource).toBe('1234567890123456789');
    expect([await delivered(id), await listed(id)]).toEqual(Array(2).fill('{"id":1234567890123456789,"price":1.10}'));
  });

  it('has its unpaired surrogates replaced, because a strict receiver would refuse them', async () => {
    says = responseWithLength('{"id":"cus_half","text":"\\ud83d\\ude00 \\uD83D"}');
    await call();
    expect(await delivered((await last()).id)).toBe('{"id":"cus_half","text":"\\ud83d\\ude00 \\ufffd"}');
  });

  it('is skipped if it is not UTF-8', async () => {
    const before = await last();
    says = responseWithLength(Buffer.from('{"id":"J\xf6rg"}', 'latin1'));
    expect((await call()).status).toBe(201);
    expect((await last()).id).toBe(before.id);
  });
});

it('an error response of a backend with unpaired surrogates becomes well-formed', async () => {
  says = responseWithLength('{"message":"a \\ud83d end","errors":{"name\\udc00":["no \\ud83d"]}}', 422, JSON_FIELDS);
  const { text } = await send(`${trailgate.gatewayUrl}/api/v1/customers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}` },
  });
  expect(JSON.parse(text)).toMatchObject({ detail: 'a \ufffd end', errors: [{ detail: 'no \ufffd' }] });
  expect(text).not.toMatch(/\\ud[89a-f]/i);
});

it.each([
  ['in Latin-1', Buffer.from('{"name":"J\xf6rg","plan":"pro"}', 'latin1'), {}, 400],
  ['with half a surrogate pair', '{"name":"\\ud83d","plan":"pro"}', {}, 400],
  ['with a name twice', '{"name":"a","name":"b","plan":"pro"}', {}, 400],
  ['of another charset', '{"name":"a","plan":"pro"}', { 'content-type': 'application/json; charset=utf-16' }, 415],
])('an account %s is refused', async (_what, body, headers: Record<string, string>, status) => {
  const all = { authorization: `Bearer ${trailgate.adminToken}`, 'content-type': 'application/json', ...headers };
  expect((await send(`${trailgate.adminUrl}/admin/v1/accounts`, { method: 'POST', headers: all, body })).status).toBe(
    status,
  );
});

describe('random documents', () => {
  it('are delivered and listed as they were sent', async () => {
    // Leaves out NUL, which is refused everywhere because PostgreSQL cannot store it.
    const documents = fc.sample(
      DOCUMENT.filter((json) => !json.includes('\\u0000')),
      BATCHES * BATCH,
    );
    const expected = new Map<string, string>();
    for (let batch = 0; batch < BATCHES; batch++) {
      const data = `{"any":[${documents.slice(batch * BATCH, (batch + 1) * BATCH).join(',')}]}`;
      const answer = await sendEvent(`random_${batch}`, data);
      expect([answer.status, batch]).toEqual([202, batch]);
      expected.set(answer.json<Answer>().data[0]!.event_id, data);
    }
    for (const [eventId, data] of expected) {
      expect(saidBy(await delivered(eventId))).toEqual(saidBy(data));
      expect(saidBy(await listed(eventId))).toEqual(saidBy(data));
    }
  });

  it('that two parsers may read differently are refused', async () => {
    for (const broken of fc.sample(BROKEN, BROKEN_RUNS)) {
      const data = Buffer.concat([Buffer.from('{"any":'), broken, Buffer.from('}')]);
      const answer = await sendEvent('broken', data);
      expect([answer.status, answer.json<Answer>().detail]).toEqual([400, expect.stringMatching(/^The body /)]);
    }
  });
});

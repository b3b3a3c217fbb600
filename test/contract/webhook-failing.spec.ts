/** A failing endpoint causes one notice for all of its failures, and its undelivered events wait. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { addEvents } from '../../src/outbox/outbox.js';
import type { RunningDeliveries } from '../../src/webhooks/deliveries/start-deliveries.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { writeMember } from '../support/members.js';
import { eventually } from '../support/processes.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';
import {
  DUE_LANES_STATEMENT,
  QUICK_TIMES,
  startWorker,
  watchStatements,
  type WatchedDatabase,
} from '../support/webhook-worker.js';
import { addAccount, addEndpoint, deliveriesIn, serviceEvent, type EndpointOptions } from '../support/webhooks.js';

describeOnDatabases('the webhook worker', (kind) => {
  let database: DatabaseHandle;
  let receiver: Receiver;
  let signal: WorkSignal;
  let workers: RunningDeliveries[];
  let laneClaims: WatchedDatabase;

  beforeEach(async () => {
    database = await testDatabase(kind);
    receiver = await startReceiver();
    signal = new WorkSignal();
    workers = [];
    laneClaims = watchStatements(database, DUE_LANES_STATEMENT);
    await addAccount(database.db, 'acc_1', Date.now());
  });
  afterEach(async () => {
    receiver.stop();
    await Promise.all(workers.map((worker) => worker.stop(1_000)));
    await database.close();
  });

  const endpoint = (options: EndpointOptions = {}) =>
    addEndpoint(database.db, Date.now(), { url: receiver.url, ...options });
  const start = async (hasMail = false) =>
    void workers.push(await startWorker(laneClaims.database, signal, { hasMail, times: QUICK_TIMES }));

  async function emit(...names: string[]): Promise<void> {
    const events = names.map((name) => serviceEvent(name));
    signal.signalEndpoints((await addEvents(database.db, events, Date.now())).endpointIds);
  }

  it('disables an endpoint that responds with 410, with one event to another endpoint', async () => {
    const other = await startReceiver();
    try {
      const gone = await endpoint({ event_types: '["customer.*"]' });
      await endpoint({ url: other.url, event_types: '["webhook_endpoint.*"]' });
      receiver.respond((response) => response.writeHead(410).end());
      await start();
      await emit('ana', 'ben', 'eve');
      await eventually('the other endpoint gets an event', () => other.received.length > 0);
      await laneClaims.waitForStatements(5);
      expect(other.received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
        {
          type: 'webhook_endpoint.disabled',
          data: { webhook_endpoint: { id: gone, status: 'disabled', disabled_reason: 'gone' } },
        },
      ]);
      const entries = await database.db.selectFrom('audit_entry').selectAll().execute();
      expect(entries).toMatchObject([{ actor: 'system', action: 'webhook_endpoint.disabled', target_id: gone }]);
    } finally {
      other.stop();
    }
  });

  it('disables an endpoint after five days of failures, with one notice and no failed delivery', async () => {
    const failingSince = Date.now() - 6 * 86_400_000;
    const id = await endpoint({ failing_since: failingSince, failures: 9, event_types: '["customer.*"]' });
    await endpoint({ status: 'paused' });
    receiver.respond((response) => response.writeHead(500).end());
    await Promise.all([start(), start()]);
    await emit('ana', 'ben', 'eve');
    const isDisabled = async () => {
      const row = await database.db.selectFrom('webhook_endpoint').selectAll().where('id', '=', id).executeTakeFirst();
      return row?.status === 'disabled' && row.disabled_reason === 'failing' && row.version === 2;
    };
    await eventually('the endpoint is disabled', isDisabled, 20_000);
    const notices = await database.db.selectFrom('event').select('type').where('source', '=', 'trailgate').execute();
    expect(notices).toEqual([{ type: 'webhook_endpoint.disabled' }]);
    // Undelivered events wait instead of failing.
    expect(await deliveriesIn(database.db)).not.toContainEqual(
      expect.objectContaining({ endpoint_id: id, state: 'failed' }),
    );
  });

  it('sends one mail to each owner of the account, and to no other member', async () => {
    await addAccount(database.db, 'acc_2', Date.now());
    const people = [
      ['owner', 'acc_1', 'owner', 'es'],
      ['partner', 'acc_1', 'owner', null],
      ['viewer', 'acc_1', 'viewer', null],
      ['other', 'acc_2', 'owner', null],
    ] as const;
    for (const [name, accountId, role, locale] of people) {
      const email = `${name}@example.com`;
      await writeMember(database, { id: `mem_${name}`, name, email, email_key: email, locale });
      const times = { version: 1, created_at: 1, updated_at: 1 };
      const row = { account_id: accountId, member_id: `mem_${name}`, role, ...times };
      await database.db.insertInto('account_member').values(row).execute();
    }
    const id = await endpoint({ event_types: '["customer.*"]' });
    receiver.respond((response) => response.writeHead(410).end());
    await Promise.all([start(true), start(true)]);
    await emit('ana', 'ben', 'eve');
    const mails = () => database.db.selectFrom('mail').selectAll().orderBy('to_address').execute();
    await eventually('the owners get a mail', async () => (await mails()).length > 0, 20_000);
    await laneClaims.waitForStatements(5);
    expect(await mails()).toMatchObject([
      { to_address: 'owner@example.com', locale: 'es', state: 'waiting', link_id: null },
      { to_address: 'partner@example.com', locale: 'en' },
    ]);
    const host = new URL(receiver.url).host;
    const content = { kind: 'webhook_disabled', accountId: 'acc_1', accountName: 'acc_1', host, reason: 'gone' };
    for (const mail of await mails()) expect(JSON.parse(mail.content)).toEqual({ ...content, endpointId: id });
  });

  it('sends one notice about an endpoint that has failed for a day', async () => {
    const failingSince = Date.now() - 2 * 86_400_000;
    await endpoint({ failing_since: failingSince, failures: 9, retry_schedule: '[0.1,0.1,0.1,0.1]' });
    receiver.respond((response) => response.writeHead(500).end());
    await start();
    await emit('ana');
    const notices = () => database.db.selectFrom('event').select('type').where('source', '=', 'trailgate').execute();
    await eventually('a notice is created', async () => (await notices()).length > 0, 20_000);
    await laneClaims.waitForStatements(5);
    expect(await notices()).toEqual([{ type: 'webhook_endpoint.failing' }]);
  });
});

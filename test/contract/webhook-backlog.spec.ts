/** The backlog of webhook deliveries and the states of endpoints, read with a limit for each endpoint. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { readBacklog } from '../../src/webhooks/deliveries/rows/backlog.js';
import { addEvents } from '../../src/outbox/outbox.js';
import { METRICS } from '../../src/platform/metrics.js';
import { watchBacklog } from '../../src/webhooks/deliveries/delivery-gauges.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { addAccount, addEndpoint, serviceEvent } from '../support/webhooks.js';

const NOW = 1_795_000_000_000;

describeOnDatabases('the webhook backlog', (kind) => {
  let database: DatabaseHandle;
  beforeEach(async () => {
    database = await testDatabase(kind);
    await addAccount(database.db, 'acc_1', NOW);
    const enabled = await addEndpoint(database.db, NOW);
    for (const status of ['paused', 'disabled'] as const) await addEndpoint(database.db, NOW, { status });
    await addEndpoint(database.db, NOW, { deleted_at: NOW });
    await addEvents(
      database.db,
      ['a', 'b', 'c'].map((name) => serviceEvent(name)),
      NOW,
    );
    const rows = await database.db
      .selectFrom('webhook_delivery')
      .select('id')
      .where('endpoint_id', '=', enabled)
      .orderBy('id')
      .execute();
    const change = (at: number, values: object) =>
      database.db
        .updateTable('webhook_delivery')
        .set(values)
        .where('id', '=', rows[at]?.id ?? '')
        .execute();
    await change(0, { due_at: NOW + 60_000 });
    await change(1, { state: 'held' });
  });
  afterEach(() => database.close());

  it('counts due, later, held and paused deliveries, and endpoints by status', async () => {
    expect(await readBacklog(database.db, NOW)).toEqual({
      endpoints: { enabled: 1, paused: 1, disabled: 1 },
      deliveries: { due: 1, later: 1, held: 1, paused: 6 },
    });
  });

  it('is counted up to a limit for each endpoint', async () => {
    const { deliveries } = await readBacklog(database.db, NOW, 2);
    expect(deliveries).toEqual({ due: 1, later: 1, held: 1, paused: 4 });
  });

  it('is in the metrics soon after the start', async () => {
    METRICS.webhookBacklog.series('paused').set(0);
    const watched = watchBacklog(database.db, { now: () => NOW });
    await eventually('the backlog metrics are updated', () => METRICS.webhookBacklog.series('paused').value === 6);
    await watched.stop();
    expect(METRICS.webhookEndpoints.series('paused').value).toBe(1);
  });
});

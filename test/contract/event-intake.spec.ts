/** Concurrent requests with events share one database transaction. */
import { expect, it } from '@jest/globals';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { EventIntake } from '../../src/webhooks/intake/intake.js';
import { systemClock } from '../../src/platform/clock.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { addAccount } from '../support/webhooks.js';

describeOnDatabases('the event intake', (kind) => {
  it('reports the second of two equal concurrent events as a duplicate with the same event ID', async () => {
    const database = await testDatabase(kind);
    try {
      await addAccount(database.db, 'acc_1', Date.now());
      const types = [{ name: 'customer.created', schema: null, description: null, example: null }];
      const intake = new EventIntake(database.db, systemClock, new WorkSignal(), () => types);
      const event = (id: string) => ({ id, type: 'customer.created', account_id: 'acc_1', data: {} });
      // The first event is written alone. The two others wait for it and share one transaction.
      const taken = await Promise.all(['first', 'same', 'same'].map((id) => intake.acceptEvents('crm', [event(id)])));
      expect(taken.map(([one]) => one?.isDuplicate)).toEqual([false, false, true]);
      expect(taken[2]?.[0]?.eventId).toBe(taken[1]?.[0]?.eventId);
    } finally {
      await database.close();
    }
  });
});

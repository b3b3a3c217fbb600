/** Events that several requests hand in at the same moment, which one transaction takes. */
import { expect, it } from '@jest/globals';
import { WorkSignal } from '../../src/outbox/work-signal.js';
import { EventIntake } from '../../src/webhooks/intake/intake.js';
import { systemClock } from '../../src/platform/clock.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { addAccount } from '../support/webhooks.js';

describeOnDatabases('the intake', (kind) => {
  it('says to one of two that hand in the same event together that it was handed in before', async () => {
    const database = await testDatabase(kind);
    try {
      await addAccount(database.db, 'acc_1', Date.now());
      const types = [{ name: 'customer.created', schema: null, description: null, example: null }];
      const intake = new EventIntake(database.db, systemClock, new WorkSignal(), () => types);
      const event = (id: string) => ({ id, type: 'customer.created', account_id: 'acc_1', data: {} });
      // The first is written by itself; the others wait for it, and go into one transaction.
      const taken = await Promise.all(['first', 'same', 'same'].map((id) => intake.acceptEvents('crm', [event(id)])));
      expect(taken.map(([one]) => one?.isDuplicate)).toEqual([false, false, true]);
      expect(taken[2]?.[0]?.eventId).toBe(taken[1]?.[0]?.eventId);
    } finally {
      await database.close();
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { openDatabase, type DatabaseHandle } from '../../stores/database/connect.js';
import { eventually, temporaryFolder } from '../../../test/support/processes.js';
import { addAccount } from '../../../test/support/webhooks.js';
import { WorkSignal } from '../../outbox/work-signal.js';
import { EmittedEvents, type Emitted } from './emitted-events.js';

const NOW_MS = 1_795_000_000_000;
const clock = { now: () => NOW_MS };
const counted = (outcome: 'accepted' | 'unusable' | 'dropped') => METRICS.events.series('emits', outcome).value;
const schema = { type: 'object', properties: { id: { type: 'string' } } };
const types = () => [{ name: 'customer.created', schema, description: null, example: null }];

function emitted(data: Record<string, unknown>, resource?: readonly string[]): Emitted {
  return { accountId: 'acc_1', emits: { type: 'customer.created', resource }, data, text: JSON.stringify(data) };
}

function openEvents(db: Kysely<Tables>) {
  const said: string[] = [];
  const lines: object[] = [];
  const say = (line: { event: string }): void => {
    said.push(line.event);
    lines.push(line);
  };
  const log = { info: say, warn: say, error: say } as unknown as Logger;
  return { said, lines, events: new EmittedEvents(db, clock, new WorkSignal(), log, types) };
}

describe('events of operations', () => {
  let database: DatabaseHandle;

  beforeAll(async () => {
    database = await openDatabase({ dataDir: temporaryFolder('emitted') });
    await addAccount(database.db, 'acc_1', NOW_MS);
  });
  afterAll(() => database.close());

  it('have the resource at the pointer, or none if that is not an ID', async () => {
    const { events } = openEvents(database.db);
    const pairs: [Record<string, unknown>, string[]][] = [
      [{ a: { 'b/c': 'cus_1' } }, ['a', 'b/c']],
      [{ id: 7 }, ['id']],
      [{ id: 'has spaces' }, ['id']],
      [{ a: null }, ['a', 'id']],
      [{}, ['constructor', 'name']],
    ];
    await Promise.all(
      pairs.map(([data, at]) => new Promise<void>((resolve) => events.add(emitted({ id: 'x', ...data }, at), resolve))),
    );
    const rows = await database.db.selectFrom('event').select(['resource']).orderBy('id').execute();
    // The schema of this type does not accept a number as ID.
    expect(rows.map(({ resource }) => resource)).toEqual(['cus_1', null, null, null]);
  });

  it('are dropped if the schema of their type refuses them', async () => {
    const { events, said } = openEvents(database.db);
    const [before, accepted] = [counted('unusable'), counted('accepted')];
    for (let count = 0; count < 3; count++) {
      await new Promise<void>((resolve) => events.add(emitted({ id: 7 }), resolve));
    }
    expect([counted('unusable') - before, counted('accepted') - accepted]).toEqual([3, 0]);
    // Logged once per minute.
    expect(said).toEqual(['event_unusable']);
  });

  it('that cannot be written wait in bounded memory, and further ones are dropped and logged', async () => {
    const away = { transaction: () => ({ execute: () => Promise.reject(new Error('away')) }) } as unknown;
    const { events, said, lines } = openEvents(away as Kysely<Tables>);
    const before = counted('dropped');
    let gone = 0;
    for (let count = 0; count < 10_000; count++) events.add(emitted({}), () => (gone += 1));
    expect([gone, counted('dropped') - before]).toEqual([0, 0]);
    events.add(emitted({ id: 'cus_1' }, ['id']), () => (gone += 1));
    expect([gone, counted('dropped') - before]).toEqual([1, 1]);
    const named = [{ type: 'customer.created', account_id: 'acc_1', resource: 'cus_1' }];
    expect(lines.at(-1)).toEqual({ event: 'event_dropped', dropped: 1, waiting: 10_000, named });
    // The gauge counts only events whose responses did not wait, and not those that await their transaction.
    events.readGauges();
    expect(METRICS.eventsUnwritten.series().value).toBe(0);
    // The first transaction has failed. The next is some time away.
    await eventually('it says so', () => said.includes('events_unwritten'));
    await events.stop(50);
    expect([gone, counted('dropped') - before]).toEqual([10_001, 10_001]);
    expect(lines.at(-1)).toMatchObject({ event: 'event_dropped', dropped: 10_000, waiting: 0 });
  });
});

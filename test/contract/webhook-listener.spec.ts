/** The listener for PostgreSQL notifications reconnects, however its session ends. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { WorkListener } from '../../src/webhooks/deliveries/work-listener.js';
import { describeWithPostgres } from '../support/describe-with.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

describeWithPostgres('the notification listener', () => {
  let database: FreshDatabase;
  let other: pg.Client;
  let listener: WorkListener | undefined;
  let seen: { heard: string[]; ups: number; downs: number };

  beforeEach(async () => {
    database = await freshDatabase();
    other = new pg.Client({ connectionString: database.url });
    await other.connect();
    seen = { heard: [], ups: 0, downs: 0 };
  });
  afterEach(async () => {
    await listener?.stop();
    await other.end();
    await database.drop();
  });

  async function listen(databaseUrl = database.url): Promise<void> {
    listener = new WorkListener({
      databaseUrl,
      channel: 'told',
      notify: tell,
      onMessage: (message) => void seen.heard.push(message),
      onUp: () => (seen.ups += 1),
      onDown: () => (seen.downs += 1),
      log: pino({ level: 'silent' }),
      beatIntervalMs: 100,
      beatTimeoutMs: 300,
    });
    await listener.start();
    await eventually('the listener is up', () => seen.ups === 1);
  }
  const tell = (message: string) => other.query('select pg_notify($1, $2)', ['told', message]);

  it('receives notifications of others, and ignores its own', async () => {
    await listen();
    await tell('whe_1 whe_2');
    await eventually('a notification arrives', () => seen.heard.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(seen).toEqual({ heard: ['whe_1 whe_2'], ups: 1, downs: 0 });
  });

  it('listens again when its session is killed, and reports the interruption', async () => {
    await listen();
    await other.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'trailgate listener'",
    );
    await eventually('the listener is up again', () => seen.ups === 2);
    expect(seen.downs).toBe(1);
    await tell('whe_3');
    await eventually('the notification whe_3 arrives', () => seen.heard.includes('whe_3'));
  });

  it('reconnects when its connection stays silent', async () => {
    const url = new URL(database.url);
    const proxy = await startTcpProxy(Number(url.port));
    try {
      url.port = String(proxy.port);
      await listen(url.href);
      proxy.strand();
      await eventually('the listener is up again', () => seen.ups === 2);
      await tell('whe_4');
      await eventually('the notification whe_4 arrives', () => seen.heard.includes('whe_4'));
    } finally {
      await listener?.stop();
      await proxy.close();
    }
  });
});

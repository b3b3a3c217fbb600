/**
 * Events are sent in while the processes that deliver them are killed repeatedly. Each accepted event is delivered at
 * least once. The number of duplicates is written to stderr.
 *
 * The suite sends 600 events. `TRAILGATE_TEST_EVENTS=100000 npm test -- test/e2e/webhook-crashes` sends more to each
 * database.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { repeat } from '../support/counter-stores.js';
import { describeUnless, describeWithOwnPostgres } from '../support/describe-with.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';
import { canMountDisk, mountSmallDisk, type SmallDisk } from '../support/small-disk.js';
import type { MadeEndpoint } from '../support/webhook-endpoints.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';

const EVENTS = Number(process.env['TRAILGATE_TEST_EVENTS'] ?? 600);
const EVENTS_A_REQUEST = 100;
const ACCOUNTS = 20;
const WORKERS = 2;
/** Pause between requests, so that the events of the suite are spread over a few kills. */
const PAUSE_MS = EVENTS > 10_000 ? 0 : 200;
const DEADLINE_MS = 90_000 + EVENTS * 6;
const ALL = { missing: [], taken: EVENTS, arrived: EVENTS };
const MAX_KILLS_AWAITED = 3;
const TOKEN = 'token-of-a-service-that-tells-0123456789';
const OPTIONS: TrailgateOptions = {
  config: {
    services: { backend: { eventsToken: TOKEN } },
    events: { 'customer.created': {} },
    webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] },
  },
  env: { LOG_LEVEL: 'info', TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=` },
};

interface Taken {
  readonly event_id: string;
  readonly duplicate: boolean;
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly account_id: string;
  readonly data: object;
}

const eventOf = (accountId: string, id: string): Event => ({
  id,
  type: 'customer.created',
  account_id: accountId,
  data: { id },
});

async function sendEvents(adminUrl: string, events: readonly Event[]): Promise<{ status: number; data: Taken[] }> {
  const response = await fetch(`${adminUrl}/internal/v1/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  const { data = [] } = (await response.json()) as { data?: Taken[] };
  return { status: response.status, data };
}

/** Accounts with one endpoint each, a receiver that counts, and a service that sends events until it gets 202. */
class World {
  readonly taken = new Set<string>();
  readonly arrived = new Map<string, number>();
  kills = 0;
  private isOver = false;
  private readonly startMs = performance.now();

  private constructor(
    private readonly receiver: Receiver,
    private readonly accountIds: readonly string[],
  ) {
    receiver.respond((response, { id }) => {
      this.arrived.set(id, (this.arrived.get(id) ?? 0) + 1);
      receiver.received.length = 0;
      response.writeHead(204).end();
    });
  }

  static async create({ admin }: RunningTrailgate): Promise<World> {
    const receiver = await startReceiver();
    const accounts = await Promise.all(repeat(ACCOUNTS, (each) => admin.createAccount({ name: `Account ${each}` })));
    for (const { id } of accounts) {
      const fields = { url: `${receiver.url}/hook`, event_types: ['customer.created'] };
      await admin.call<MadeEndpoint>('POST', `/accounts/${id}/webhook-endpoints`, fields);
    }
    return new World(
      receiver,
      accounts.map(({ id }) => id),
    );
  }

  /** Sends all events, and repeats each request until it is accepted. */
  async sendAllEvents(adminUrl: () => string, onRequest: (events: number) => Promise<void> = async () => {}) {
    for (let from = 0; from < EVENTS; from += EVENTS_A_REQUEST) {
      await onRequest(from);
      const events = repeat(Math.min(EVENTS_A_REQUEST, EVENTS - from), (each) =>
        eventOf(this.accountIds[each % ACCOUNTS]!, `evt-${from + each}`),
      );
      for (;;) {
        const { status, data } = await sendEvents(adminUrl(), events).catch(() => ({ status: 0, data: [] }));
        for (const { event_id: id } of data) this.taken.add(id);
        if (status === 202) break;
        // Repeating the request would not help with any other status.
        if (status !== 0 && status !== 503) throw new Error(`events were refused with ${status}`);
        await sleep(100);
      }
      await sleep(PAUSE_MS);
    }
  }

  /**
   * Calls `kill` repeatedly until `end` is called, with a pause before each call. `kill` reports whether it killed a
   * process.
   */
  async killRepeatedly(pauseMs: () => number, kill: () => Promise<boolean>): Promise<void> {
    while (!this.isOver) {
      await sleep(pauseMs());
      if (this.isOver) return;
      if (await kill()) this.kills++;
    }
  }

  /** Waits for enough kills for this number of events: one for every two requests, up to `MAX_KILLS_AWAITED`. */
  async waitForKills(events: number): Promise<void> {
    const due = Math.floor(Math.min(events / EVENTS_A_REQUEST / 2, MAX_KILLS_AWAITED));
    await eventually(`${due} processes were killed`, () => this.kills >= due, DEADLINE_MS);
  }

  /** Ends `killRepeatedly`. */
  end(): void {
    this.isOver = true;
  }

  /** Waits until every accepted event has arrived, and writes the result to stderr. */
  async all(what: string) {
    const missing = () => [...this.taken].filter((id) => !this.arrived.has(id));
    await eventually(`every event arrives`, () => missing().length === 0, DEADLINE_MS).catch(() => undefined);
    const duplicates = [...this.arrived.values()].reduce((sum, count) => sum + count - 1, 0);
    const seconds = Math.round((performance.now() - this.startMs) / 1_000);
    process.stderr.write(
      `${what}: ${this.taken.size} events, ${this.kills} kills, ${missing().length} lost, ${duplicates} duplicates, ${seconds} s\n`,
    );
    return { missing: missing(), taken: this.taken.size, arrived: this.arrived.size };
  }

  stop(): void {
    this.receiver.stop();
  }
}

describeWithOwnPostgres('on PostgreSQL', () => {
  let postgres: PostgresServer;
  let intake: RunningTrailgate;
  let world: World;
  let workers: RunningTrailgate[];
  let options: TrailgateOptions;
  let isOver = false;

  /** Starts a worker, and restarts it when it exits, as a supervisor does. */
  async function startWorker(): Promise<RunningTrailgate> {
    const worker = await startTrailgate({ ...options, roles: ['worker'] });
    void worker.exited.then(({ signal }) => (isOver || signal === 'SIGKILL' ? undefined : replace(worker)));
    return worker;
  }

  async function replace(worker: RunningTrailgate): Promise<void> {
    workers[workers.indexOf(worker)] = await startWorker();
  }

  beforeAll(async () => {
    postgres = await startPostgres();
    options = { ...OPTIONS, env: { ...OPTIONS.env, DATABASE_URL: await postgres.createDatabase('webhooks') } };
    intake = await startTrailgate({ ...options, roles: ['admin'] });
    world = await World.create(intake);
    workers = await Promise.all(repeat(WORKERS, startWorker));
  });
  afterAll(async () => {
    isOver = true;
    await Promise.all([intake, ...workers].map((each) => each.stop()));
    world.stop();
    await postgres.stop();
  });

  it(
    'every event arrives although workers are killed repeatedly and the database restarts twice',
    async () => {
      const killing = world.killRepeatedly(
        () => 200 + Math.random() * 800,
        async () => {
          // Kills only workers that have delivered something. One that is still starting has nothing to lose.
          const busy = workers.filter(({ stdout }) => stdout.some((line) => line.includes('"webhook_attempt"')));
          const victim = busy[Math.floor(Math.random() * busy.length)];
          if (victim === undefined) return false;
          await victim.kill9();
          await replace(victim);
          return true;
        },
      );
      const restarts = [1, 2].map((third) => Math.round((EVENTS * third) / 3 / EVENTS_A_REQUEST) * EVENTS_A_REQUEST);
      const restarting: Promise<void>[] = [];
      await world.sendAllEvents(
        () => intake.adminUrl,
        async (events) => {
          if (restarts.includes(events)) restarting.push(postgres.restart());
          // Waits until enough workers were killed, however slowly they start.
          await world.waitForKills(events);
        },
      );
      await Promise.all(restarting);
      world.end();
      await killing;
      expect(await world.all('PostgreSQL, workers killed')).toEqual(ALL);
    },
    DEADLINE_MS * 2,
  );
});

describe('on SQLite', () => {
  let program: RunningTrailgate;
  let world: World;
  beforeAll(async () => {
    program = await startTrailgate(OPTIONS);
    world = await World.create(program);
  });
  afterAll(async () => {
    await program.stop();
    world.stop();
  });

  it(
    'every event arrives although the only process is killed repeatedly',
    async () => {
      const killing = world.killRepeatedly(
        () => 200 + Math.random() * 800,
        async () => {
          await program.kill9();
          program = await startTrailgate({ ...OPTIONS, dataDir: program.dataDir });
          return true;
        },
      );
      await world.sendAllEvents(
        () => program.adminUrl,
        (events) => world.waitForKills(events),
      );
      world.end();
      await killing;
      expect(await world.all('SQLite, the process killed')).toEqual(ALL);
    },
    DEADLINE_MS * 2,
  );
});

describeUnless(canMountDisk() ? null : 'needs root, to mount a small disk')('on a disk that is full', () => {
  let disk: SmallDisk;
  let program: RunningTrailgate;
  let accountId: string;
  beforeAll(async () => {
    disk = mountSmallDisk(32);
    program = await startTrailgate({ ...OPTIONS, dataDir: `${disk.folder}/data` });
    accountId = (await program.admin.createAccount({ name: 'Kayaks' })).id;
  });
  afterAll(async () => {
    await program.stop();
    disk.unmount();
  });

  it('a request that gets 503 stores none of its events: when repeated, all of them are new', async () => {
    const request = (number: number) =>
      repeat(100, (each) => ({ ...eventOf(accountId, `full-${number}-${each}`), data: { text: 'x'.repeat(1_000) } }));
    disk.fill();
    let number = 0;
    // A few requests fit into the space that the database already has.
    while ((await sendEvents(program.adminUrl, request(number))).status === 202) number++;
    expect((await sendEvents(program.adminUrl, request(number))).status).toBe(503);
    disk.clear();
    await eventually('the repeated request is accepted', async () => {
      const { status, data } = await sendEvents(program.adminUrl, request(number));
      if (status !== 202) return false;
      expect(data.map(({ duplicate }) => duplicate)).toEqual(repeat(100, () => false));
      return true;
    });
    const before = number === 0 ? [] : (await sendEvents(program.adminUrl, request(number - 1))).data;
    expect(before.filter(({ duplicate }) => !duplicate)).toEqual([]);
  });
});

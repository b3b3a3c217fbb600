/** Starts a program whose accounts have working webhook endpoints, and later endpoints of every failing kind. */
import { repeat } from './counter-stores.js';
import { startDeadReceivers, type DeadReceivers } from './dead-receivers.js';
import { eventually, sleep } from './processes.js';
import { startTrailgate, type RunningTrailgate } from './program.js';
import type { MadeEndpoint } from './webhook-endpoints.js';
import { startReceiver, type Receiver } from './webhook-receiver.js';

const TICK_MS = 100;
const TOKEN = 'token-of-a-service-that-tells-0123456789';

export interface DeadEndpointOptions {
  readonly accounts: number;
  /** Number of working endpoints per account. */
  readonly good: number;
  /** Number of failing endpoints per account. */
  readonly dead: number;
  /** Timeout of an attempt, as in gateway.yaml. */
  readonly timeout: string;
  readonly backend?: string;
}

/** DeadEndpointWorld submits events and records their deliveries. The test must stop it. */
export class DeadEndpointWorld {
  /** Number of deliveries to working endpoints, by event ID. */
  readonly arrived = new Map<string, number>();
  /** Other paths of the working receiver that were requested, for example after a redirect. */
  readonly misled: string[] = [];
  /** Kind of failure by ID of the failing endpoint. */
  readonly kinds = new Map<string, string>();
  readonly accountIds: string[] = [];
  /** Number of submitted events. */
  handedIn = 0;
  /** Total number of deliveries to working endpoints. */
  deliveries = 0;
  /** Highest number of open connections at the failing endpoints. */
  mostOpen = 0;
  private timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly options: DeadEndpointOptions,
    private readonly receiver: Receiver,
    readonly dead: DeadReceivers,
    readonly trailgate: RunningTrailgate,
  ) {}

  /**
   * Starts the program with the working endpoints only.
   * @param onDelivery called for each delivery with the times of submission and arrival, both by `performance.now()`
   */
  static async start(
    options: DeadEndpointOptions,
    onDelivery = (_sentMs: number, _atMs: number): void => {},
  ): Promise<DeadEndpointWorld> {
    const receiver = await startReceiver();
    const dead = await startDeadReceivers(`${receiver.url}/elsewhere`);
    const trailgate = await startTrailgate({
      ...(options.backend === undefined ? {} : { backend: options.backend }),
      config: {
        services: { backend: { eventsToken: TOKEN } },
        events: { 'customer.created': {} },
        webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'], timeout: options.timeout },
      },
      env: { LOG_LEVEL: 'info', TRAILGATE_SECRETS_KEY: `${'a'.repeat(43)}=` },
    });
    const world = new DeadEndpointWorld(options, receiver, dead, trailgate);
    receiver.respond((response, { path, id, body, atMs }) => {
      if (path !== '/good') world.misled.push(path);
      world.arrived.set(id, (world.arrived.get(id) ?? 0) + 1);
      world.deliveries += 1;
      onDelivery((JSON.parse(body) as { data: { sentMs: number } }).data.sentMs, atMs);
      receiver.received.length = 0;
      response.writeHead(204).end();
    });
    for (let count = 0; count < options.accounts; count++) {
      const { id } = await trailgate.admin.createAccount({ name: `Account ${count}` });
      world.accountIds.push(id);
      await world.addEndpoints(
        id,
        repeat(options.good, () => `${receiver.url}/good`),
      );
    }
    return world;
  }

  /** Adds the failing endpoints, of all kinds in turn. Starts sampling their open connections. */
  async addDead(): Promise<void> {
    const kinds = Object.entries(this.dead.urls);
    let next = 0;
    for (const accountId of this.accountIds) {
      const chosen = repeat(this.options.dead, () => kinds[next++ % kinds.length]!);
      const ids = await this.addEndpoints(
        accountId,
        chosen.map(([, url]) => url),
      );
      ids.forEach((id, at) => this.kinds.set(id, chosen[at]![0]));
    }
    this.timer = setInterval(() => (this.mostOpen = Math.max(this.mostOpen, this.dead.connections)), 50);
  }

  /**
   * Submits events for `lastsMs`. Every 100 ms, submits one event each for a twentieth of the accounts. Then waits
   * until the working endpoints have received all events.
   */
  async handInFor(lastsMs: number, onTick = (): void => {}): Promise<void> {
    const { accounts, good } = this.options;
    const [before, startMs] = [this.deliveries, performance.now()];
    const each = Math.ceil(accounts / 20);
    const pending: Promise<void>[] = [];
    for (let atMs = startMs; atMs < startMs + lastsMs; atMs += TICK_MS) {
      pending.push(this.handIn(repeat(each, (at) => this.accountIds[(this.handedIn + at) % accounts]!)));
      onTick();
      await sleep(Math.max(0, atMs + TICK_MS - performance.now()));
    }
    await Promise.all(pending);
    const expected = before + pending.length * each * good;
    await eventually('the working endpoints have received all events', () => this.deliveries >= expected);
  }

  /** Returns the log lines of attempts at failing endpoints. */
  attempts() {
    const isOfDead = (line: object) => this.kinds.has(String((line as { endpoint_id?: string }).endpoint_id));
    return this.trailgate.logs().filter((line) => line['event'] === 'webhook_attempt' && isOfDead(line));
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.trailgate.stop();
    this.dead.stop();
    this.receiver.stop();
  }

  private async addEndpoints(accountId: string, urls: readonly string[]): Promise<string[]> {
    const made = urls.map((url) =>
      this.trailgate.admin.call<MadeEndpoint>('POST', `/accounts/${accountId}/webhook-endpoints`, { url }),
    );
    return (await Promise.all(made)).map(({ id }) => id);
  }

  private async handIn(accountIds: readonly string[]): Promise<void> {
    const sentMs = performance.now();
    const events = accountIds.map((accountId) => ({
      id: `evt-${this.handedIn++}`,
      type: 'customer.created',
      account_id: accountId,
      data: { sentMs },
    }));
    const response = await fetch(`${this.trailgate.adminUrl}/internal/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events }),
    });
    await response.arrayBuffer();
    if (response.status !== 202) throw new Error(`events were refused with ${response.status}`);
  }
}

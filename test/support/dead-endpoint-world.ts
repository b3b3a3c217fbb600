/** A program with accounts that have endpoints that work, and soon endpoints of every dead kind beside them. */
import { times } from './counter-stores.js';
import { startDeadReceivers, type DeadReceivers } from './dead-receivers.js';
import { eventually, sleep } from './processes.js';
import { startTrailgate, type RunningTrailgate } from './program.js';
import type { MadeEndpoint } from './webhook-endpoints.js';
import { startReceiver, type Receiver } from './webhook-receiver.js';

const TICK_MS = 100;
const TOKEN = 'token-of-a-service-that-tells-0123456789';

export interface DeadEndpointOptions {
  readonly accounts: number;
  /** Endpoints of each account. */
  readonly good: number;
  readonly dead: number;
  /** After which an attempt is given up. */
  readonly timeout: string;
  readonly backend?: string;
}

/** DeadEndpointWorld hands events in, and notes what arrives where. */
export class DeadEndpointWorld {
  /** How often each event has arrived at an endpoint that works. */
  readonly arrived = new Map<string, number>();
  /** Paths to which a redirect has led. */
  readonly misled: string[] = [];
  /** Kinds of fault by ID of the dead endpoint. */
  readonly kinds = new Map<string, string>();
  readonly accountIds: string[] = [];
  handedIn = 0;
  /** Webhooks that have arrived at endpoints that work. */
  deliveries = 0;
  /** Most connections that the dead had open. */
  mostOpen = 0;
  private timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly options: DeadEndpointOptions,
    private readonly receiver: Receiver,
    readonly dead: DeadReceivers,
    readonly trailgate: RunningTrailgate,
  ) {}

  /**
   * Starts it, without dead endpoints.
   * @param onDelivery told of each: when its event was handed in, and when it arrived, both by `performance.now()`.
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
        times(options.good, () => `${receiver.url}/good`),
      );
    }
    return world;
  }

  /** Adds the dead ones, all kinds in turn. */
  async addDead(): Promise<void> {
    const kinds = Object.entries(this.dead.urls);
    let next = 0;
    for (const accountId of this.accountIds) {
      const chosen = times(this.options.dead, () => kinds[next++ % kinds.length]!);
      const ids = await this.addEndpoints(
        accountId,
        chosen.map(([, url]) => url),
      );
      ids.forEach((id, at) => this.kinds.set(id, chosen[at]![0]));
    }
    this.timer = setInterval(() => (this.mostOpen = Math.max(this.mostOpen, this.dead.connections)), 50);
  }

  /** Hands events in for so long, to a twentieth of the accounts at a time, and waits until all are where they can be. */
  async handInFor(lastsMs: number, onTick = (): void => {}): Promise<void> {
    const { accounts, good } = this.options;
    const [before, startMs] = [this.deliveries, performance.now()];
    const each = Math.ceil(accounts / 20);
    const pending: Promise<void>[] = [];
    for (let atMs = startMs; atMs < startMs + lastsMs; atMs += TICK_MS) {
      pending.push(this.handIn(times(each, (at) => this.accountIds[(this.handedIn + at) % accounts]!)));
      onTick();
      await sleep(Math.max(0, atMs + TICK_MS - performance.now()));
    }
    await Promise.all(pending);
    const expected = before + pending.length * each * good;
    await eventually('the good endpoints have all events', () => this.deliveries >= expected);
  }

  /** Attempts at dead endpoints, as the log has them. */
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

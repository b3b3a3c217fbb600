/**
 * A load balancer like those of hosting platforms. It checks each gateway's readiness, alternates between ready
 * gateways, and never retries a request.
 */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A gateway behind the load balancer. */
export interface Member {
  readonly gatewayUrl: string;
  readonly adminUrl: string;
}

/**
 * LoadBalancer responds with 599 if no gateway is ready, and with 598 if the request to a gateway fails. The test must
 * stop it.
 */
export class LoadBalancer {
  private members: { readonly member: Member; ready: boolean; readonly agent: Agent }[] = [];
  private turn = 0;
  private readonly server: Server;
  private readonly timer: NodeJS.Timeout;

  /**
   * @param checkIntervalMs interval of the `/readyz` checks in milliseconds
   * @param probeTimeoutMs time in milliseconds after which a check without a response fails
   */
  constructor(
    checkIntervalMs: number,
    private readonly probeTimeoutMs = 30_000,
  ) {
    this.timer = setInterval(() => void this.check(), checkIntervalMs);
    this.server = createServer((incoming, outgoing) => {
      const ready = this.members.filter((each) => each.ready);
      const chosen = ready[this.turn++ % Math.max(1, ready.length)];
      if (chosen === undefined) {
        outgoing.writeHead(599).end();
        return;
      }
      const { gatewayUrl } = chosen.member;
      const forwarded = httpRequest(
        gatewayUrl + (incoming.url ?? ''),
        {
          method: incoming.method ?? 'GET',
          headers: { ...incoming.headers, connection: 'keep-alive' },
          agent: chosen.agent,
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' });
          answer.pipe(outgoing);
        },
      );
      forwarded.on('error', () => outgoing.headersSent || outgoing.writeHead(598).end());
      incoming.pipe(forwarded);
    });
  }

  /** Listens on a free port, and returns its URL. */
  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Replaces the gateways, and checks their readiness at once. */
  async use(...members: Member[]): Promise<void> {
    this.members = members.map(
      (member) =>
        this.members.find((known) => known.member === member) ?? {
          member,
          ready: false,
          agent: new Agent({ keepAlive: true }),
        },
    );
    await this.check();
  }

  stop(): void {
    clearInterval(this.timer);
    this.server.closeAllConnections();
    this.server.close();
    for (const { agent } of this.members) agent.destroy();
  }

  private async check(): Promise<void> {
    await Promise.all(
      this.members.map(async (each) => {
        const signal = AbortSignal.timeout(this.probeTimeoutMs);
        const answer = await fetch(`${each.member.adminUrl}/readyz`, { signal }).catch(() => undefined);
        each.ready = answer?.ok === true;
      }),
    );
  }
}

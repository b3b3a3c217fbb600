/** A load balancer as platforms have one: asks each gateway whether it is ready, takes turns among those that are, repeats nothing. */
import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A gateway behind it. */
export interface Member {
  readonly gatewayUrl: string;
  readonly adminUrl: string;
}

export class LoadBalancer {
  private members: { readonly member: Member; ready: boolean; readonly agent: Agent }[] = [];
  private turn = 0;
  private readonly server: Server;
  private readonly timer: NodeJS.Timeout;

  /**
   * @param checkIntervalMs between two questions for `/readyz`.
   * @param probeTimeoutMs a response that takes longer is none.
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

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

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

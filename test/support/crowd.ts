/** A crowd of clients. Each client sends one request at a time until the crowd is stopped. */
import { Agent } from 'node:http';
import { send } from './http.js';
import { sleep } from './processes.js';

/**
 * Maximum random pause of a client after a response other than 200. It keeps hundreds of clients from overloading a
 * small machine.
 */
const LONGEST_PAUSE_MS = 400;

/** A gateway and the key that clients use there. */
export interface CrowdMember {
  readonly gatewayUrl: string;
  readonly secret: string;
}

/** Crowd runs the clients. The test must stop it. */
export class Crowd {
  /** Number of responses by status code. Broken connections count as status 0. */
  readonly statuses: Record<number, number> = {};
  private stopped = false;
  private readonly agents: Agent[] = [];
  private readonly running: Promise<void>[];

  /** Starts `size` clients at once, divided evenly among the members. */
  constructor(members: readonly CrowdMember[], size: number, path = '/open') {
    this.running = members.flatMap((member) => {
      const agent = new Agent({ keepAlive: true });
      this.agents.push(agent);
      return Array.from({ length: size / members.length }, () => this.client(member, agent, path));
    });
  }

  of(status: number): number {
    return this.statuses[status] ?? 0;
  }

  /** Total number of responses and broken connections. */
  get answered(): number {
    return Object.values(this.statuses).reduce((sum, count) => sum + count, 0);
  }

  /** Stops the clients after their current requests. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
    for (const agent of this.agents) agent.destroy();
  }

  private async client({ gatewayUrl, secret }: CrowdMember, agent: Agent, path: string): Promise<void> {
    const url = `${gatewayUrl}/api/v1${path}`;
    const headers = { Authorization: `Bearer ${secret}` };
    while (!this.stopped) {
      const status = await send(url, { agent, headers }).then(
        (answer) => answer.status,
        () => 0,
      );
      this.statuses[status] = this.of(status) + 1;
      if (status !== 200) await sleep(Math.random() * LONGEST_PAUSE_MS);
    }
  }
}

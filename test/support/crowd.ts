/** A crowd of clients that keep asking, each one request at a time, until they are told to stop. */
import { Agent } from 'node:http';
import { send } from './http.js';
import { sleep } from './processes.js';

/** How long a client waits after a refusal: long enough that hundreds of them leave a small machine some air. */
const LONGEST_PAUSE_MS = 400;

export interface CrowdMember {
  readonly gatewayUrl: string;
  readonly secret: string;
}

export class Crowd {
  /** How many answers there were of each status. A client whose connection broke counts as status 0. */
  readonly statuses: Record<number, number> = {};
  private stopped = false;
  private readonly agents: Agent[] = [];
  private readonly running: Promise<void>[];

  /** Starts `size` clients at once, spread evenly over the members. */
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

  /** How many answers there were, of whatever status. */
  get answered(): number {
    return Object.values(this.statuses).reduce((sum, count) => sum + count, 0);
  }

  /** Lets every request under way be answered. */
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

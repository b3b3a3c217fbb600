/** Callers of the gateway that watch their limits: the fields as a client reads them, and many requests at once. */
import { Agent } from 'node:http';
import { isInnerList, parseList } from 'structured-headers';
import { send, type Answer, type SendOptions } from './http.js';
import { eventually } from './processes.js';

/** One policy as both fields describe it. */
export interface Policy {
  readonly name: string;
  readonly q: number;
  readonly w: number;
  readonly r: number;
  readonly t: number;
}

/** The policies of an answer in order; throws where the two fields are no structured fields or do not belong together. */
export function policiesOf(answer: Answer): Policy[] {
  const described = members(answer.headers['ratelimit-policy']);
  const current = members(answer.headers['ratelimit']);
  if (described.map(([name]) => name).join() !== current.map(([name]) => name).join()) {
    throw new Error(`${answer.headers['ratelimit-policy']} and ${answer.headers['ratelimit']} differ`);
  }
  return described.map(([name, parameters], index) => ({
    name,
    ...(Object.fromEntries([...parameters, ...(current[index]?.[1] ?? [])]) as Pick<Policy, 'q' | 'w' | 'r' | 't'>),
  }));
}

function members(field: string | string[] | undefined): [string, Map<string, unknown>][] {
  if (typeof field !== 'string') return [];
  return parseList(field).map((member) => {
    if (isInnerList(member) || typeof member[0] !== 'string') throw new Error(`${field} is no list of strings`);
    return [member[0], member[1]];
  });
}

/** The names of the rate-limit fields of an answer, lower case. */
export function limitFieldsOf(answer: Answer): string[] {
  return Object.keys(answer.headers).filter((name) => name.includes('ratelimit'));
}

/** How often those are asked again that could not be decided in time. */
const PATIENCE_ROUNDS = 100;

/** Sends with a key on kept connections, at most `connections` at once. */
export class Caller {
  private readonly agent: Agent;

  constructor(
    private readonly gatewayUrl: string,
    private readonly secret: string,
    connections = 50,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** `path` is relative to the base path. */
  get(path = '/open', options: SendOptions = {}): Promise<Answer> {
    const headers = { Authorization: `Bearer ${this.secret}` };
    return send(`${this.gatewayUrl}/api/v1${path}`, { agent: this.agent, headers, ...options });
  }

  /** Sends so many requests at once. @returns how many responses had each status */
  async burst(count: number, path = '/open'): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {};
    const answers = await Promise.all(Array.from({ length: count }, () => this.get(path)));
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    return statuses;
  }

  /**
   * Like `burst`, but repeats requests whose limits could not be looked up in time, since a busy machine is no lost
   * limit. Late ones are refunded, so they take nobody's place.
   */
  async decided(count: number, path = '/open'): Promise<Record<number, number>> {
    const statuses = await this.burst(count, path);
    for (let left = PATIENCE_ROUNDS; left > 0 && statuses[503] !== undefined; left--) {
      const again = await this.burst(statuses[503], path);
      delete statuses[503];
      for (const [status, more] of Object.entries(again))
        statuses[Number(status)] = (statuses[Number(status)] ?? 0) + more;
    }
    return statuses;
  }

  /** The caller's own usage: count by policy. */
  async used(): Promise<Record<string, number>> {
    const answer = await this.get('/usage');
    const { windows } = answer.json<{ windows: { policy: string; used: number }[] }>();
    return Object.fromEntries(windows.map(({ policy, used }) => [policy, used]));
  }

  close(): void {
    this.agent.destroy();
  }
}

/**
 * Returns how many of `each` simultaneous requests per caller are admitted, with repetitions until none is. A late
 * decision is refunded a moment later. Callers that were refused meanwhile may repeat, and in the end no place is lost.
 */
export async function admittedInAll(callers: readonly Caller[], each: number, limit: number): Promise<number> {
  const bursts = await Promise.all(callers.map((caller) => caller.decided(each)));
  let admitted = bursts.reduce((sum, statuses) => sum + (statuses[200] ?? 0), 0);
  const askOn = async (): Promise<void> => {
    for (const caller of callers) admitted += (await caller.decided(5))[200] ?? 0;
  };
  if (admitted < limit) {
    await eventually(`${limit} are admitted`, async () => {
      await askOn();
      return admitted >= limit;
    });
  }
  await askOn();
  return admitted;
}

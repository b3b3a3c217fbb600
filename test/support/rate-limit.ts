/** A client that reads the rate-limit fields of responses and sends many requests at once. */
import { Agent } from 'node:http';
import { isInnerList, parseList } from 'structured-headers';
import { send, type Answer, type SendOptions } from './http.js';
import { eventually } from './processes.js';

/** Policy is one rate-limit policy, with the parameters of both fields. */
export interface Policy {
  readonly name: string;
  readonly q: number;
  readonly w: number;
  readonly r: number;
  readonly t: number;
}

/** Returns the policies of a response in order. Throws if the two fields are invalid or name different policies. */
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
    if (isInnerList(member) || typeof member[0] !== 'string') throw new Error(`${field} is not a list of strings`);
    return [member[0], member[1]];
  });
}

/** Returns the names of a response's rate-limit fields, in lower case. */
export function limitFieldsOf(answer: Answer): string[] {
  return Object.keys(answer.headers).filter((name) => name.includes('ratelimit'));
}

/** Maximum number of repetitions for requests that could not be decided in time. */
const PATIENCE_ROUNDS = 100;

/** Caller sends requests with a key on at most `connections` persistent connections. Tests must close it. */
export class Caller {
  private readonly agent: Agent;

  constructor(
    private readonly gatewayUrl: string,
    private readonly secret: string,
    connections = 50,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends a request. `path` is relative to the base path. */
  get(path = '/open', options: SendOptions = {}): Promise<Answer> {
    const headers = { Authorization: `Bearer ${this.secret}` };
    return send(`${this.gatewayUrl}/api/v1${path}`, { agent: this.agent, headers, ...options });
  }

  /** Sends `count` requests at once. @returns the number of responses by status. */
  async burst(count: number, path = '/open'): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {};
    const answers = await Promise.all(Array.from({ length: count }, () => this.get(path)));
    for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    return statuses;
  }

  /**
   * Like `burst`, but repeats requests that got a 503 because their limits could not be checked in time. This happens
   * on busy machines. A late decision is refunded, so it uses up no limit.
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

  /** Returns the usage of the key and its account, by policy. */
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
 * Returns how many requests are admitted in total if each caller sends `each` requests at once. Late decisions are
 * refunded with a delay, so callers repeat requests until `limit` is reached. At the end, each caller sends five more
 * requests, so that the result shows an exceeded limit.
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

/** REST and MCP requests of an account share one limit and one usage count, and a revoked key is refused by both. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { json } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { startMcpWorld, type McpWorld } from '../support/mcp-world.js';
import { eventually } from '../support/processes.js';
import { sharedRedisUrl } from '../support/redis.js';

const LIMIT = 100;
const AT_ONCE = 500;
/** Maximum number of repetitions of undecided requests. A busy machine may miss decision deadlines. */
const PATIENCE_ROUNDS = 100;
const UNDECIDED = 503;

function suite(env: () => Promise<Record<string, string>>): void {
  let world: McpWorld;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  beforeAll(async () => {
    world = await startMcpWorld({ env: await env() });
    world.answerWith(json({ data: [] }));
  });
  afterAll(async () => {
    agent.destroy();
    await world?.stop();
  });

  const rest = async (secret: string): Promise<number> => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await send(`${world.url}/api/v1/customers`, { headers, agent })).status;
  };
  /** Calls a tool. Returns the status that the same REST request would get. */
  const tool = async (secret: string): Promise<number> => {
    const answer = await world.modern(secret, 'tools/call', { name: 'list_customers' }, { agent });
    const { isError, content } = answer.json<{ result: { isError?: boolean; content: { text: string }[] } }>().result;
    return isError === true ? (JSON.parse(content[0]!.text) as { status: number }).status : answer.status;
  };

  it(`of ${AT_ONCE} concurrent requests, half by REST and half by tools, exactly ${LIMIT} pass`, async () => {
    const { secret } = await world.newKey('hundred');
    const before = world.backend.requests.length;
    const ask = (at: number): Promise<number> => (at % 2 === 0 ? rest(secret) : tool(secret));
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => ask(at)));
    for (let left = PATIENCE_ROUNDS; left > 0 && statuses.includes(UNDECIDED); left--) {
      const again = statuses.map((status, at) => (status === UNDECIDED ? ask(at) : status));
      statuses.splice(0, AT_ONCE, ...(await Promise.all(again)));
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
    expect(statuses.filter((status) => status === 429)).toHaveLength(AT_ONCE - LIMIT);
    expect(world.backend.requests.length - before).toBe(LIMIT);
    // Some requests of both kinds passed, so neither has priority.
    const byTool = statuses.filter((status, at) => at % 2 === 1 && status === 200).length;
    expect(byTool).toBeGreaterThan(0);
    expect(byTool).toBeLessThan(LIMIT);
    const usage = await send(`${world.url}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
    expect(usage.json()).toMatchObject({ windows: [{ policy: 'account-minute', used: LIMIT, remaining: 0 }] });
  });

  it('a revoked key is refused within a second by REST and by tools', async () => {
    const { secret, keyId } = await world.newKey('unlimited');
    expect([await rest(secret), await tool(secret)]).toEqual([200, 200]);
    await world.revoke(keyId);
    await eventually(
      'REST and MCP refuse the key',
      async () =>
        (await rest(secret)) === 401 &&
        (await world.modern(secret, 'tools/call', { name: 'list_customers' })).status === 401,
      1_000,
    );
  });
}

describe('with counters in the process', () => {
  suite(async () => ({}));
});
describeWithRedis('with counters in Redis', () => {
  suite(async () => ({ REDIS_URL: await sharedRedisUrl() }));
});

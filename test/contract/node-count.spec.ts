/** Number of nodes that share the limits, and how nodes detect that Redis lost data. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { NodeCount } from '../../src/quota/redis/node-count.js';
import { NODES_KEY } from '../../src/stores/redis/keys.js';
import { describeWithRedis } from '../support/describe-with.js';
import { emptyRedis } from '../support/timed-redis.js';

const HOUR_MS = 3_600_000;

describeWithRedis('nodes that share limits through Redis', () => {
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let nodes: NodeCount[];
  beforeEach(async () => {
    client = await emptyRedis();
    nodes = [new NodeCount(client, true), new NodeCount(client, true)];
    for (const node of [...nodes, ...nodes]) await node.sendHeartbeat();
  });
  afterEach(() => client.disconnect());
  const counts = () => nodes.map(({ position }) => position.count);
  /** Returns a node, and a function that sends a heartbeat whose reply comes too late. */
  const nodeWithLateReplies = () => {
    let isLate = false;
    const evalsha = async (...args: Parameters<typeof client.evalsha>): Promise<unknown> => {
      const reply = await client.evalsha(...args);
      if (isLate) throw new Error('Command timed out');
      return reply;
    };
    const node = new NodeCount(Object.assign(Object.create(client) as typeof client, { evalsha }), true);
    const lateBeat = async (): Promise<void> => {
      isLate = true;
      expect(await node.sendHeartbeat()).toBeUndefined();
      isLate = false;
    };
    return { node, lateBeat };
  };

  it('each notice once that Redis was emptied, and nothing at the start', async () => {
    expect((await new NodeCount(client, true).sendHeartbeat())?.isLoss).toBe(false);
    await client.flushdb();
    for (const expected of [true, false]) {
      for (const node of nodes) expect((await node.sendHeartbeat())?.isEmptied).toBe(expected);
    }
  });

  it('notice an emptied Redis even if the first reply after that was lost', async () => {
    const { node, lateBeat } = nodeWithLateReplies();
    await node.sendHeartbeat();
    await client.flushdb();
    await lateBeat();
    for (const expected of [true, false]) expect((await node.sendHeartbeat())?.isEmptied).toBe(expected);
  });

  it('report possible lost counts, but no emptied Redis, if only the first reply was late', async () => {
    const { node, lateBeat } = nodeWithLateReplies();
    await lateBeat();
    // The node may have counted requests meanwhile, perhaps in a Redis that then lost its data.
    expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: true });
    expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: false });
  });

  it('treat a Redis that forgot one of them as one that may have lost counts', async () => {
    await client.zremrangebyrank(NODES_KEY, 0, 0);
    const heard = [await nodes[0]!.sendHeartbeat(), await nodes[1]!.sendHeartbeat()];
    expect(heard.map((each) => each?.isEmptied)).toEqual([false, false]);
    expect(heard.filter((each) => each?.isLoss === true)).toHaveLength(1);
  });

  it('do not treat a Redis as emptied that was away for an hour and kept its data', async () => {
    // Simulates an hour without heartbeats: expires every key that lives shorter.
    for (const key of await client.keys('*')) {
      const leftMs = (await client.pttl(key)) - HOUR_MS;
      await (leftMs > 0 ? client.pexpire(key, leftMs) : client.del(key));
    }
    for (const node of nodes) expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: true });
    expect(counts()).toEqual([2, 2]);
  });

  it('keep their shares until all nodes have sent a heartbeat again', async () => {
    await client.flushdb();
    await nodes[0]!.sendHeartbeat();
    expect(counts()).toEqual([2, 2]);
    for (const node of [...nodes, ...nodes]) await node.sendHeartbeat();
    expect(counts()).toEqual([2, 2]);
    expect(nodes.map(({ position }) => position.rank).toSorted()).toEqual([0, 1]);
  });
});

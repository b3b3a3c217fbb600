/** How many nodes share the limits, and what they notice when Redis forgets them. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { NodeCount } from '../../src/quota/redis/node-count.js';
import { NODES_KEY } from '../../src/stores/redis/keys.js';
import { describeWithRedis } from '../support/describe-with.js';
import { emptyRedis } from '../support/timed-redis.js';

const HOUR_MS = 3_600_000;

describeWithRedis('nodes that share limits', () => {
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let nodes: NodeCount[];
  beforeEach(async () => {
    client = await emptyRedis();
    nodes = [new NodeCount(client, true), new NodeCount(client, true)];
    for (const node of [...nodes, ...nodes]) await node.sendHeartbeat();
  });
  afterEach(() => client.disconnect());
  const counts = () => nodes.map(({ place }) => place.count);
  /** A node, and a beat of it that Redis carries out and whose reply comes too late. */
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

  it('notice once each that Redis was emptied, and at the start nothing', async () => {
    expect((await new NodeCount(client, true).sendHeartbeat())?.isLoss).toBe(false);
    await client.flushdb();
    for (const expected of [true, false]) {
      for (const node of nodes) expect((await node.sendHeartbeat())?.isEmptied).toBe(expected);
    }
  });

  it('notice it also where the first reply behind that was lost', async () => {
    const { node, lateBeat } = nodeWithLateReplies();
    await node.sendHeartbeat();
    await client.flushdb();
    await lateBeat();
    for (const expected of [true, false]) expect((await node.sendHeartbeat())?.isEmptied).toBe(expected);
  });

  it('say of no Redis that it was emptied where only the first reply came too late', async () => {
    const { node, lateBeat } = nodeWithLateReplies();
    await lateBeat();
    // It may have counted meanwhile, and nobody knows in which.
    expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: true });
    expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: false });
  });

  it('take a Redis that has forgotten one of them, and has the rest, for one that may have lost counts', async () => {
    await client.zremrangebyrank(NODES_KEY, 0, 0);
    const heard = [await nodes[0]!.sendHeartbeat(), await nodes[1]!.sendHeartbeat()];
    expect(heard.map((each) => each?.isEmptied)).toEqual([false, false]);
    expect(heard.filter((each) => each?.isLoss === true)).toHaveLength(1);
  });

  it('know a Redis again that was away for an hour and has lost nothing', async () => {
    // Nobody said anything meanwhile, and what lives no longer than that is gone.
    for (const key of await client.keys('*')) {
      const leftMs = (await client.pttl(key)) - HOUR_MS;
      await (leftMs > 0 ? client.pexpire(key, leftMs) : client.del(key));
    }
    for (const node of nodes) expect(await node.sendHeartbeat()).toMatchObject({ isEmptied: false, isLoss: true });
    expect(counts()).toEqual([2, 2]);
  });

  it('leave each other their share while not all have said again that they are there', async () => {
    await client.flushdb();
    await nodes[0]!.sendHeartbeat();
    expect(counts()).toEqual([2, 2]);
    for (const node of [...nodes, ...nodes]) await node.sendHeartbeat();
    expect(counts()).toEqual([2, 2]);
    expect(nodes.map(({ place }) => place.rank).toSorted()).toEqual([0, 1]);
  });
});

/** How many nodes share the limits, and what they notice when Redis forgets them. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { NodeCount } from '../../src/limits/redis/node-count.js';
import { describeWithRedis } from '../support/describe-with.js';
import { emptyRedis } from '../support/timed-redis.js';

describeWithRedis('nodes that share limits', () => {
  let client: Awaited<ReturnType<typeof emptyRedis>>;
  let nodes: NodeCount[];
  beforeEach(async () => {
    client = await emptyRedis();
    nodes = [new NodeCount(client, true), new NodeCount(client, true)];
    for (const node of [...nodes, ...nodes]) await node.beat();
  });
  afterEach(() => client.disconnect());
  const counts = () => nodes.map(({ place }) => place.count);

  it('notice once each that Redis was emptied, and at the start nothing', async () => {
    expect(await new NodeCount(client, true).beat()).toBe(false);
    await client.flushdb();
    for (const expected of [true, false]) {
      for (const node of nodes) expect(await node.beat()).toBe(expected);
    }
  });

  it('leave each other their share while not all have said again that they are there', async () => {
    await client.flushdb();
    await nodes[0]!.beat();
    expect(counts()).toEqual([2, 2]);
    for (const node of [...nodes, ...nodes]) await node.beat();
    expect(counts()).toEqual([2, 2]);
    expect(nodes.map(({ place }) => place.rank).toSorted()).toEqual([0, 1]);
  });
});

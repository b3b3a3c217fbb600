import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import { connectRedis, connectSubscriber, type RedisClient } from '../../src/stores/redis/connect.js';
import { INVALIDATION_CHANNEL } from '../../src/stores/redis/keys.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import type { Invalidation } from '../../src/keys/api-key.js';
import { RedisBus } from '../../src/keys/redis-bus.js';

const log = pino({ level: 'silent' });
const REVOKED: Invalidation = { type: 'api_key', accountId: 'acc_1', keyId: 'key_1' };

interface Node {
  readonly bus: RedisBus;
  readonly publisher: RedisClient;
  readonly subscriber: ReturnType<typeof connectSubscriber>;
  readonly heard: Invalidation[];
}

describeWithOwnRedis('the invalidation bus on Redis', () => {
  let redis: RedisServer;
  let nodes: Node[];

  /** Connects a node to the bus. */
  function node(url = redis.url): Node {
    const publisher = connectRedis(url, 'publisher', log);
    const subscriber = connectSubscriber(url, log);
    const bus = new RedisBus(publisher, subscriber, systemClock, log);
    const heard: Invalidation[] = [];
    bus.subscribe((change) => heard.push(change));
    bus.start();
    const made = { bus, publisher, subscriber, heard };
    nodes.push(made);
    return made;
  }

  const up = ({ bus }: Node, timeoutMs = 5_000) =>
    eventually('the bus is up', () => bus.connectedSince() !== null, timeoutMs);
  const down = ({ bus }: Node, timeoutMs: number) =>
    eventually('the bus is down', () => bus.connectedSince() === null, timeoutMs);

  beforeEach(async () => {
    nodes = [];
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const { bus, publisher, subscriber } of nodes) {
      bus.stop();
      publisher.disconnect();
      subscriber.disconnect();
    }
    await redis.stop();
  });

  it('delivers a change to every process, including the one that published it', async () => {
    const [one, two] = [node(), node()];
    await Promise.all([up(one), up(two)]);
    await one.bus.publish(REVOKED);
    expect(one.heard[0]).toEqual(REVOKED);
    await eventually('the other node receives the message', () => two.heard.length > 0, 1_000);
    expect(two.heard).toEqual([REVOKED]);
  });

  it('reports a connection time that is no earlier than its start', async () => {
    const beforeMs = systemClock.now();
    const one = node();
    expect(one.bus.connectedSince()).toBeNull();
    await up(one);
    const since = one.bus.connectedSince() ?? 0;
    expect(since).toBeGreaterThanOrEqual(beforeMs);
    expect(since).toBeLessThanOrEqual(systemClock.now());
  });

  it('is down when Redis is killed, reconnects after a restart, and delivers again', async () => {
    const [one, two] = [node(), node()];
    await Promise.all([up(one), up(two)]);
    await redis.kill9();
    await down(one, 500);
    const downAtMs = systemClock.now();
    await redis.restart();
    const backAtMs = systemClock.now();
    await Promise.all([up(one), up(two)]);
    expect(one.bus.connectedSince()).toBeGreaterThanOrEqual(backAtMs - 1_000);
    expect(one.bus.connectedSince()).toBeGreaterThan(downAtMs);
    await two.bus.publish(REVOKED);
    await eventually('the node receives the message', () => one.heard.length > 0, 1_000);
  });

  it('is down within 2.5 seconds when Redis hangs, and up no earlier than Redis resumes', async () => {
    const one = node();
    await up(one);
    redis.pause();
    await down(one, 2_500);
    await new Promise((done) => setTimeout(done, 600));
    const resumedAtMs = systemClock.now();
    redis.resume();
    await up(one);
    // A ping from the time of the hang is answered now. Messages before the renewed subscription are lost.
    expect(one.bus.connectedSince()).toBeGreaterThanOrEqual(resumedAtMs);
  });

  it('publishes a change again that could not be published, once Redis is back', async () => {
    const [one, two] = [node(), node()];
    await Promise.all([up(one), up(two)]);
    await redis.kill9();
    await down(one, 500);
    await one.bus.publish(REVOKED);
    expect(one.heard).toEqual([REVOKED]);
    await redis.restart();
    await Promise.all([up(one), up(two)]);
    await eventually('the other node receives the message', () => two.heard.length > 0, 3_000);
    expect(two.heard).toContainEqual(REVOKED);
  });

  it('lets a publisher continue within a second while Redis hangs', async () => {
    const one = node();
    await up(one);
    redis.pause();
    const startedMs = performance.now();
    await one.bus.publish(REVOKED);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    redis.resume();
  });

  it('ignores malformed messages', async () => {
    const [one, two] = [node(), node()];
    await Promise.all([up(one), up(two)]);
    for (const junk of ['', 'hello', '{', 'null', '[]', '42']) await one.publisher.publish(INVALIDATION_CHANNEL, junk);
    await one.bus.publish(REVOKED);
    await eventually(
      'the node receives the message',
      () => two.heard.some((change) => change?.type === 'api_key'),
      1_000,
    );
    expect(two.heard.filter((change) => change?.type === 'api_key')).toEqual([REVOKED]);
  });

  it('is not up while Redis accepts the connection but not the subscription', async () => {
    await redis.stop();
    redis = await startRedis({ extraArgs: ['--user', 'default', 'on', 'nopass', '~*', '+@all', 'resetchannels'] });
    const one = node();
    await eventually('the subscriber is connected', () => one.subscriber.status === 'ready');
    await new Promise((done) => setTimeout(done, 1_500));
    expect(one.bus.connectedSince()).toBeNull();
    await one.publisher.call('ACL', 'SETUSER', 'default', 'allchannels');
    await up(one);
  });
});

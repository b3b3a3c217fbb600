/** The Redis servers for tests can die, freeze, lose their data and restart on the same port, as outage tests need. */
import { afterEach, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { describeWithOwnRedis, describeWithRedis } from './describe-with.js';
import { sharedRedisUrl, startRedis, type RedisServer } from './redis.js';

/** Sends one inline command. Returns the first data that arrives within the time, or an empty text. */
function command(port: number, line: string, timeoutMs = 300): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n`));
    socket.setTimeout(timeoutMs, () => {
      socket.destroy();
      resolve('');
    });
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString());
    });
    socket.once('error', reject);
  });
}

describeWithOwnRedis('a Redis of the test', () => {
  let redis: RedisServer | undefined;
  afterEach(() => redis?.stop());

  it('keeps its data over kill -9 and restart where it was asked to append', async () => {
    redis = await startRedis({ appendonly: true, extraArgs: ['--appendfsync', 'always'] });
    expect(await command(redis.port, 'SET a 1')).toBe('+OK\r\n');
    const { pid, port } = redis;
    await redis.kill9();
    await expect(command(port, 'GET a')).rejects.toThrow('ECONNREFUSED');
    await redis.restart();
    expect(redis.pid).not.toBe(pid);
    expect(await command(port, 'GET a')).toBe('$1\r\n1\r\n');
  });

  it('forgets everything over a restart by default', async () => {
    redis = await startRedis();
    await command(redis.port, 'SET a 1');
    await redis.restart();
    expect(await command(redis.port, 'GET a')).toBe('$-1\r\n');
  });

  it('accepts and says nothing while paused, and can be stopped then', async () => {
    redis = await startRedis();
    redis.pause();
    expect(await command(redis.port, 'PING')).toBe('');
    redis.resume();
    expect(await command(redis.port, 'PING')).toBe('+PONG\r\n');
    redis.pause();
    await redis.stop();
  });

  it('is gone, with its folder, once stopped', async () => {
    redis = await startRedis();
    const path = /\/\S*trailgate-redis-\S+/.exec(await command(redis.port, 'CONFIG GET dir'))?.[0] ?? '';
    expect(existsSync(path)).toBe(true);
    await redis.stop();
    expect(existsSync(path)).toBe(false);
    await expect(command(redis.port, 'PING')).rejects.toThrow('ECONNREFUSED');
  });
});

describeWithRedis('the shared Redis', () => {
  it('answers, and gives each worker its own database', async () => {
    const url = new URL(await sharedRedisUrl());
    expect(url.pathname).toMatch(/^\/\d+$/);
    expect(await command(Number(url.port), 'PING')).toMatch(/^(\+PONG|-NOAUTH)/);
  });
});

/** The counting server answers the commands of its workers, and drops clients that stop reading or send junk. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectSubscriber } from '../../src/stores/redis/connect.js';
import { countingClient, startCounting, type Counting } from '../support/counting.js';
import { CommandServer } from '../../src/stores/redis/server/command-server.js';
import { PONG } from '../../src/stores/redis/server/replies.js';
import { eventually, temporaryFolder } from '../support/processes.js';

const SILENT = { warn: () => {} };

describe('the server of the counting process', () => {
  let counting: Counting;
  let client: Redis;
  beforeEach(async () => {
    counting = await startCounting();
    client = await countingClient(counting.path);
  });
  afterEach(async () => {
    client.disconnect();
    await counting.stop();
  });

  it('delivers a published message to all subscribers, and returns their number', async () => {
    const heard: string[] = [];
    const listeners = [connectSubscriber(counting.path, SILENT), connectSubscriber(counting.path, SILENT)];
    try {
      for (const listener of listeners) {
        listener.on('message', (channel, text) => heard.push(`${channel} ${text}`));
        await listener.subscribe('tg:invalidations');
      }
      expect(await client.publish('tg:invalidations', '{"keyId":"ä"}')).toBe(2);
      expect(await client.publish('another', 'x')).toBe(0);
      // PING is answered after all earlier messages of the connection, so they have arrived.
      for (const listener of listeners) expect(await listener.ping()).toBe('PONG');
      expect(heard).toEqual(Array.from({ length: 2 }, () => 'tg:invalidations {"keyId":"ä"}'));
    } finally {
      for (const listener of listeners) listener.disconnect();
    }
  });

  it('rejects unknown commands and scripts, and keeps the connection', async () => {
    await expect(client.get('a')).rejects.toThrow("ERR unknown command 'get'");
    await expect(client.eval('return 1', 0)).rejects.toThrow('NOSCRIPT');
    expect(await client.ping()).toBe('PONG');
  });

  it('drops a subscriber that reads nothing, and keeps other connections', async () => {
    const frozen = connect(counting.path);
    frozen.on('error', () => undefined);
    const part = (text: string): string => `$${text.length}\r\n${text}\r\n`;
    frozen.write(`*2\r\n${part('SUBSCRIBE')}${part('tg:invalidations')}`);
    await eventually('the subscriber is subscribed', async () => (await client.publish('tg:invalidations', 'x')) === 1);
    frozen.pause();
    const text = 'x'.repeat(1024 * 1024);
    await eventually(
      'the server drops the subscriber',
      async () => (await client.publish('tg:invalidations', text)) === 0,
    );
    expect(await client.ping()).toBe('PONG');
    frozen.destroy();
  });

  it('reports being alone after the given time without a connection, and not between two', async () => {
    const path = join(temporaryFolder('alone'), 'counters');
    const server = new CommandServer(path, new Map([['ping', () => PONG]]));
    await server.listen();
    const come = async () => {
      const socket = connect(path);
      await once(socket, 'connect');
      return socket;
    };
    const leave = async (socket: Socket) => {
      socket.destroy();
      await once(socket, 'close');
    };
    let isAlone = false;
    const first = await come();
    server.onceAlone(3_600_000, () => (isAlone = true));
    await leave(first);
    const second = await come();
    expect(isAlone).toBe(false);
    server.onceAlone(1, () => (isAlone = true));
    // The reply shows that the server has processed everything before it.
    second.write('*1\r\n$4\r\nPING\r\n');
    await once(second, 'data');
    expect(isAlone).toBe(false);
    await leave(second);
    await eventually('the server reports that it is alone', () => isAlone);
    await server.close();
  });

  it('closes a connection that keeps sending HTTP', async () => {
    const socket = connect({ path: counting.path, allowHalfOpen: true });
    let isClosed = false;
    socket.on('error', () => undefined).on('close', () => (isClosed = true));
    socket.resume();
    const speaking = setInterval(() => socket.write('GET / HTTP/1.1\r\n\r\n'), 5);
    await eventually('the server closes the connection', () => isClosed);
    clearInterval(speaking);
    expect(await client.ping()).toBe('PONG');
  });

  it('sends an error to a client that speaks HTTP, and closes the connection', async () => {
    const socket = connect(counting.path);
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await closed;
    expect(text).toBe('-ERR this is no array of bulk strings\r\n');
    expect(await client.ping()).toBe('PONG');
  });
});

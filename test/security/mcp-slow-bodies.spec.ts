/** MCP messages whose bodies arrive slowly, do not end, or break off. */
import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { sceneOfTests } from '../support/tool-results.js';

const scene = sceneOfTests();

describe('slow and broken MCP request bodies', () => {
  const head = (length: string) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${scene.secret}\r\nContent-Type: application/json\r\n${length}\r\n`;

  it('a slow body gets 408 within 20 seconds', async () => {
    const socket = connect(Number(new URL(scene.world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.write(`${head('Content-Length: 1000\r\n')}{`);
    const timer = setInterval(() => socket.write(' '), 500);
    const startedMs = performance.now();
    await once(socket, 'close');
    clearInterval(timer);
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toContain('request_timeout');
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });

  it('an endless body gets 413 when it is too large', async () => {
    const socket = connect(Number(new URL(scene.world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.write(head('Transfer-Encoding: chunked\r\n'));
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (let sent = 0; sent < 20 && !socket.destroyed; sent++) socket.write(piece);
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('a client that disconnects during its body leaves the server working', async () => {
    const socket = connect(Number(new URL(scene.world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${head('Content-Length: 1000\r\n')}{`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect((await scene.world.modern(scene.secret, 'server/discover')).status).toBe(200);
  });
});

/** Messages to the MCP server that come slowly, without end, or not at all. */
import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { sceneOfTests } from '../support/tool-results.js';

const scene = sceneOfTests();

describe('slow and broken bodies', () => {
  const head = (length: string) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${scene.secret}\r\nContent-Type: application/json\r\n${length}\r\n`;

  it('a body that trickles in is cut off after ten seconds, however it comes', async () => {
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

  it('a body without end is cut off when it has become too large', async () => {
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

  it('a client that leaves in the middle of its body is let go of', async () => {
    const socket = connect(Number(new URL(scene.world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${head('Content-Length: 1000\r\n')}{`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect((await scene.world.modern(scene.secret, 'server/discover')).status).toBe(200);
  });
});

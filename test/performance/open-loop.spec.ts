/** The constant-rate load generator of the benchmark: its latency figures, and its checks of responses. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../support/processes.js';

const BODY = '{"data":[]}';
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\nRateLimit: "key-minute";r=1;t=1`;
const RIGHT = `${HEAD}\r\n\r\n${BODY}`;

interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly max: number;
}

interface Result {
  readonly failure?: string;
  readonly requests: number;
  readonly told: number;
  readonly waited: number;
  readonly latency: Quantiles;
}

let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server?.close();
});

/** Starts a server that counts requests and calls `answer` for each. Each request fits into one segment. */
async function serve(answer: (socket: Socket, count: number) => void): Promise<{ port: number; received(): number }> {
  let count = 0;
  server = createServer((socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', () => answer(socket, ++count));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, received: () => count };
}

async function run(port: number, load: { rate: number; seconds: number; connections: number }): Promise<Result> {
  const secretsFile = join(temporaryFolder('open-loop'), 'secrets');
  writeFileSync(secretsFile, 'one\ntwo');
  const settings = { port, path: '/', secretsFile, limits: true, body: BODY, warmUpSeconds: 0.5, ...load };
  const program = join('test/bench/loads/open-loop.mjs');
  const output = await new Promise<string>((resolve) =>
    execFile(process.execPath, [program, JSON.stringify(settings)], (_error, stdout) => resolve(stdout)),
  );
  return JSON.parse(/^RESULT (.*)$/m.exec(output)?.[1] ?? '{}') as Result;
}

describe('the constant-rate load', () => {
  it('includes a stall in the latency of all requests that were due during it', async () => {
    const stallMs = 400;
    let stalledUntil: Promise<void> | undefined;
    const { port, received } = await serve((socket, count) => {
      if (count === 1_000) stalledUntil = sleep(stallMs).then(() => (stalledUntil = undefined));
      if (stalledUntil === undefined) socket.write(RIGHT);
      else void stalledUntil.then(() => socket.write(RIGHT));
    });
    const { requests, told, waited, latency } = await run(port, { rate: 1_000, seconds: 2, connections: 4 });
    expect([requests, told, received()]).toEqual([2_500, 2_000, 2_500]);
    // Four requests hung. Of the 400 that were due meanwhile, half waited for more than 200 ms.
    expect(waited).toBeGreaterThan(300);
    expect(latency.p90).toBeGreaterThan(stallMs * 0.3);
    expect(latency.max).toBeGreaterThan(stallMs * 0.9);
    expect(latency.p50).toBeLessThan(stallMs * 0.3);
  });

  it('parses fragmented responses, and continues after the server closes a connection', async () => {
    const { port, received } = await serve((socket, count) => {
      const closes = count % 50 === 0;
      const text = closes ? RIGHT.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n') : RIGHT;
      const cut = count % text.length;
      socket.write(text.slice(0, cut));
      setImmediate(() => {
        socket.write(text.slice(cut));
        if (closes) socket.end();
      });
    });
    const { requests, failure } = await run(port, { rate: 400, seconds: 1, connections: 8 });
    expect([failure, requests, received()]).toEqual([undefined, 600, 600]);
  });

  it.each([
    ['another status', RIGHT.replace('200 OK', '503 Service Unavailable'), /^an answer that is none: HTTP\/1.1 503/],
    ['another body of the same length', RIGHT.replace('data', 'date'), /^a wrong body/],
    ['another length', RIGHT.replace(/Length: \d+/, 'Length: 3'), /^a Content-Length of 3/],
    ['no RateLimit field', RIGHT.replace('RateLimit:', 'X-Other:'), /^no RateLimit field/],
  ])('fails without figures at %s', async (_what, answer, failure) => {
    const { port } = await serve((socket, count) => socket.write(count === 100 ? answer : RIGHT));
    expect((await run(port, { rate: 400, seconds: 1, connections: 8 })).failure).toMatch(failure);
  });

  it('fails without figures when a connection is closed during a response', async () => {
    const { port } = await serve((socket, count) =>
      count === 100 ? socket.end(RIGHT.slice(0, -1)) : socket.write(RIGHT),
    );
    expect((await run(port, { rate: 400, seconds: 1, connections: 8 })).failure).toBe(
      'a connection was closed without notice',
    );
  });
});

/**
 * Backend for long-lived clients. `/events` sends an event with the current time every second, and `/large` sends 1 GiB
 * as fast as the client reads. All other paths return a short response at once.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';

const EVENT_INTERVAL_MS = 1_000;
export const LARGE_BYTES = 1024 ** 3;
const CHUNK = Buffer.alloc(64 * 1024, 'x');

/** Starts the backend in this process on a free port. The caller must call `stop` of the result. */
export async function startStreamingBackend() {
  const streams = new Set();
  const server = createServer((request, response) => {
    if (request.url === '/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      streams.add(response);
      response.once('close', () => streams.delete(response));
    } else if (request.url === '/large') {
      response.writeHead(200, { 'content-length': LARGE_BYTES });
      send(response, LARGE_BYTES);
    } else {
      response.end('{"ok":true}');
    }
  });
  const timer = setInterval(() => {
    for (const stream of streams) stream.write(`data: ${performance.now()}\n\n`);
  }, EVENT_INTERVAL_MS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      clearInterval(timer);
      server.closeAllConnections();
      server.close();
    },
  };
}

function send(response, left) {
  while (left > 0 && !response.destroyed) {
    left -= CHUNK.length;
    if (!response.write(CHUNK)) {
      response.once('drain', () => send(response, left));
      return;
    }
  }
  response.end();
}

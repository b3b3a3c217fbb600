/** A receiver of webhooks as an integrator has it: a real HTTP server that remembers what it got, and says what the test says. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** ID of the event. */
  readonly id: string;
  /** Time of its first byte, by `performance.now()`. */
  readonly atMs: number;
}

/** The symmetric signature that a webhook has to have, reckoned as a receiver does that knows the secret. */
export function signatureOf({ id, headers, body }: Received, secret: Buffer): string {
  const content = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
  return `v1,${createHmac('sha256', secret).update(content).digest('base64')}`;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Sets the response; 204 by default. */
  respond(how: (response: ServerResponse, received: Received) => void): void;
  stop(): void;
}

/** Starts one on a free port. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let respond = (response: ServerResponse, _received: Received): void => void response.writeHead(204).end();
  const server = createServer((request, response) => {
    const atMs = performance.now();
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      const id = String(headers['webhook-id']);
      const one = { path, headers, body: Buffer.concat(pieces).toString(), id, atMs };
      received.push(one);
      respond(response, one);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    respond: (how) => (respond = how),
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

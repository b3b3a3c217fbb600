/** A webhook receiver as integrators run it: an HTTP server. It records webhooks, and responds as the test chooses. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Received is a webhook as it arrived. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** ID of the event. */
  readonly id: string;
  /** Time of arrival of the request head, by `performance.now()`. */
  readonly atMs: number;
}

/** Computes the symmetric signature (`v1`) that a webhook must have, as a receiver with the secret does. */
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

/** Starts a receiver on a free port. The caller must stop it. */
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

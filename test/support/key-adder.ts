/**
 * Runs a local proxy that adds an API key to each request, for clients that cannot send one. It changes nothing else.
 */
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** KeyAdder is a running proxy. The test must stop it. */
export interface KeyAdder {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a proxy on a free port.
 * @param target origin that receives the requests
 * @param secrets API keys to use in turn, because requests without a cost are limited per key
 */
export async function startKeyAdder(target: string, secrets: readonly string[]): Promise<KeyAdder> {
  let asked = 0;
  const server = createServer((message, response) => {
    const authorization = `Bearer ${secrets[asked++ % secrets.length]}`;
    const headers = { ...message.headers, authorization };
    const forwarded = send(target + message.url!, { method: message.method!, headers }, (reply) => {
      response.writeHead(reply.statusCode!, reply.rawHeaders);
      response.flushHeaders();
      reply.pipe(response);
      reply.on('error', () => response.destroy());
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    message.pipe(forwarded);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

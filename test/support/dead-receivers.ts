/** Starts failing webhook receivers: real servers that never confirm a webhook. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { freePort } from './processes.js';

const DRIP_INTERVAL_MS = 1_000;
const DRIPPED = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const PIECE = Buffer.alloc(64 * 1024, 'x');

/** The receivers' URLs, by kind of failure. The test must stop the receivers. */
export interface DeadReceivers {
  readonly urls: Readonly<Record<string, string>>;
  /** Number of open connections. */
  readonly connections: number;
  /** Bytes sent and requests received by the receiver with the endless response. */
  readonly endless: { bytes: number; requests: number };
  stop(): void;
}

/**
 * Starts one receiver of each kind.
 * @param redirectTo target of the receiver that redirects
 */
export async function startDeadReceivers(redirectTo: string): Promise<DeadReceivers> {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const endless = { bytes: 0, requests: 0 };

  async function listen(server: Server, scheme = 'http'): Promise<string> {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    });
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }
  const tcp = (handle: (socket: Socket) => void) => listen(createTcpServer(handle));
  const http = (handle: RequestListener) => listen(createHttpServer(handle));

  return {
    urls: {
      refused: `http://127.0.0.1:${await freePort()}/hook`,
      hanging: await tcp((socket) => socket.resume()),
      dripping: await tcp(drip),
      'cutting off': await tcp((socket) => socket.destroy()),
      failing: await http((_request, response) => void response.writeHead(500).end('no')),
      redirecting: await http((_request, response) => void response.writeHead(302, { location: redirectTo }).end()),
      endless: await http((request, response) => {
        request.resume();
        endless.requests += 1;
        response.writeHead(500);
        const more = (): void => {
          do endless.bytes += PIECE.length;
          while (response.write(PIECE) && !response.destroyed);
        };
        response.on('drain', more);
        more();
      }),
      'without TLS': await listen(
        createHttpServer((_request, response) => void response.end()),
        'https',
      ),
    },
    endless,
    get connections() {
      return sockets.size;
    },
    stop: () => {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends one byte per second, so that the response head takes 38 seconds. */
function drip(socket: Socket): void {
  let at = 0;
  const timer = setInterval(() => socket.write(DRIPPED[at++ % DRIPPED.length]!), DRIP_INTERVAL_MS);
  socket.resume().on('close', () => clearInterval(timer));
}

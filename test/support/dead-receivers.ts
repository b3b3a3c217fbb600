/** Receivers of webhooks as nobody wishes them: real servers that never say that a webhook has arrived. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { freePort } from './processes.js';

const DRIP_INTERVAL_MS = 1_000;
const DRIPPED = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
const PIECE = Buffer.alloc(64 * 1024, 'x');

/** All of them, by what is wrong with them. */
export interface DeadReceivers {
  readonly urls: Readonly<Record<string, string>>;
  /** Connections that are open. */
  readonly connections: number;
  /** Bytes and requests of the receiver whose response has no end. */
  readonly endless: { bytes: number; requests: number };
  stop(): void;
}

/** Starts one of each kind. @param redirectTo where the one sends that knows another address. */
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

/** A byte a second: the head of its response takes longer than anybody waits. */
function drip(socket: Socket): void {
  let at = 0;
  const timer = setInterval(() => socket.write(DRIPPED[at++ % DRIPPED.length]!), DRIP_INTERVAL_MS);
  socket.resume().on('close', () => clearInterval(timer));
}

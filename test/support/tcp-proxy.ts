/** A TCP proxy that a test can make silent in one or both directions, while all connections stay open. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Number of connections accepted so far. */
  readonly accepted: number;
  /** Stops forwarding requests, on existing and new connections. */
  holdRequests(): void;
  /** Stops forwarding responses, on existing and new connections. */
  holdAnswers(): void;
  /** Permanently stops forwarding on all existing connections. New connections are not affected. */
  strand(): void;
  /** Forwards again, starting with the held data. Does not affect stranded connections. */
  release(): void;
  /** Closes all connections except stranded ones. Held data is lost. */
  cut(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Starts a proxy in front of a port of this machine. The caller must close it. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const stranded: Pair[] = [];
  const held = { requests: false, answers: false };
  let accepted = 0;
  const apply = ({ client, server }: Pair): void => {
    if (held.requests) client.pause();
    else client.resume();
    if (held.answers) server.pause();
    else server.resume();
  };
  const listener = createServer((client) => {
    accepted += 1;
    const server = connect(targetPort, '127.0.0.1');
    const pair = { client, server };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    client.on('data', (chunk) => void server.write(chunk));
    server.on('data', (chunk) => void client.write(chunk));
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', end).on('close', end);
    }
    apply(pair);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const hold = (direction: 'requests' | 'answers'): void => {
    held[direction] = true;
    for (const pair of pairs) apply(pair);
  };
  return {
    port: (listener.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    holdRequests: () => hold('requests'),
    holdAnswers: () => hold('answers'),
    strand() {
      for (const { client, server } of pairs) {
        client.pause();
        server.pause();
      }
      stranded.push(...pairs);
      pairs.clear();
    },
    release() {
      held.requests = held.answers = false;
      for (const pair of pairs) apply(pair);
    },
    cut() {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
    async close() {
      for (const { client, server } of [...pairs, ...stranded]) {
        client.destroy();
        server.destroy();
      }
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
}

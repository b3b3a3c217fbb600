/**
 * Simple load: keep-alive connections that each repeat the same `GET` after its response, and a backend with a fixed
 * response. Both sides count the pieces in which messages arrive, so that a test notices split ones.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { startRawBackend, type RawBackend } from './backend.js';

const BODY_BYTES = 1_100;
const HEAD_END = '\r\n\r\n';

/** PlainBackend answers every request immediately with 1.1 KB of JSON. */
export class PlainBackend {
  private backend: RawBackend | undefined;
  /** Number of pieces (`data` events) in which requests have arrived. */
  pieces = 0;

  async start(): Promise<string> {
    const body = JSON.stringify({ data: 'x'.repeat(BODY_BYTES - '{"data":""}'.length) });
    const answer =
      'HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Fri, 20 Nov 2026 12:00:00 GMT\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${BODY_BYTES}\r\nConnection: keep-alive${HEAD_END}${body}`;
    this.backend = await startRawBackend((socket) => {
      socket.setNoDelay(true);
      socket.on('data', (piece) => {
        this.pieces += 1;
        if (piece.toString('latin1').endsWith(HEAD_END)) socket.write(answer);
      });
    });
    return this.backend.url;
  }

  async stop(): Promise<void> {
    await this.backend?.stop();
  }
}

interface Connection {
  readonly socket: Socket;
  readonly request: string;
}

export class PlainLoad {
  private readonly connections: Connection[] = [];
  /** Number of pieces (`data` events) in which responses have arrived. */
  pieces = 0;

  /** Opens `count` connections, which use the secrets in turn. The caller must call `close`. */
  async open(gatewayUrl: string, path: string, secrets: readonly string[], count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const socket = connect(Number(new URL(gatewayUrl).port), '127.0.0.1');
      socket.setNoDelay(true);
      await once(socket, 'connect');
      const secret = secrets[index % secrets.length];
      const fields = `Host: api.example.com\r\nUser-Agent: example-sdk/1.4.2\r\nAccept: application/json\r\n`;
      const request = `GET ${path} HTTP/1.1\r\n${fields}Authorization: Bearer ${secret}${HEAD_END}`;
      this.connections.push({ socket, request });
    }
  }

  close(): void {
    for (const { socket } of this.connections) socket.destroy();
  }

  /** Sends `requests` requests, `atOnce` at a time. Rejects on a status other than 200 or a closed connection. */
  async send(requests: number, atOnce: number): Promise<void> {
    let left = requests;
    const take = (): boolean => left-- > 0;
    await Promise.all(this.connections.slice(0, atOnce).map((connection) => this.run(connection, take)));
  }

  private run({ socket, request }: Connection, take: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      let answer = '';
      const fail = (why: string) => reject(new Error(why));
      const onClose = () => fail('a connection was closed');
      const next = (): void => {
        answer = '';
        if (take()) {
          socket.write(request);
          return;
        }
        socket.off('data', onData);
        socket.off('close', onClose);
        resolve();
      };
      const onData = (piece: Buffer): void => {
        this.pieces += 1;
        answer += piece.toString('latin1');
        if (!answer.startsWith('HTTP/1.1 200')) fail(answer);
        const headEnd = answer.indexOf(HEAD_END);
        if (headEnd >= 0 && answer.length === headEnd + HEAD_END.length + BODY_BYTES) next();
      };
      socket.on('data', onData);
      socket.on('close', onClose);
      next();
    });
  }
}

/** Webhook receivers for many endpoints. They use raw sockets, which cost little. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { repeat } from './counter-stores.js';

const HEAD_END = '\r\n\r\n';
const RESPONSE = 'HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n';

/** QuickWebhook is a received webhook. The event data contains `sentMs`, by `performance.now()` in this process. */
export interface QuickWebhook {
  readonly sentMs: number;
}

/** QuickReceiver confirms every webhook immediately. */
export interface QuickReceiver {
  /** One URL for each listener. */
  readonly urls: readonly string[];
  /** Times from sending to arrival since the last `reset`, in ms. */
  readonly delaysMs: readonly number[];
  /** Number of webhooks that arrived, without repetitions at the same path. */
  readonly came: number;
  /** Path and ID of each webhook that arrived again at the same path. */
  readonly twice: readonly string[];
  reset(): void;
  stop(): void;
}

/**
 * Starts a receiver. The caller must stop it.
 * @param hosts number of listeners, each on its own port.
 * @param onWebhook called when a webhook arrives.
 */
export async function startQuickReceiver(
  hosts: number,
  onWebhook: (webhook: QuickWebhook) => void,
): Promise<QuickReceiver> {
  const seen = new Set<string>();
  const twice: string[] = [];
  const delaysMs: number[] = [];

  function take(request: string): void {
    const [, path] = /^POST (\S+) /.exec(request) ?? [];
    const [, id] = /\r\nwebhook-id: (\S+)/i.exec(request) ?? [];
    const sentMs = Number(/"sentMs":([\d.]+)/.exec(request)?.[1]);
    const key = `${path} ${id}`;
    if (seen.has(key)) twice.push(key);
    seen.add(key);
    delaysMs.push(performance.now() - sentMs);
    onWebhook({ sentMs });
  }

  const handle = (socket: Socket): void =>
    onRequests(socket, (request) => {
      take(request);
      socket.write(RESPONSE);
    });
  const receivers = await Promise.all(repeat(hosts, () => listen(handle)));
  return {
    urls: receivers.map(({ url }) => url),
    delaysMs,
    twice,
    get came() {
      return seen.size;
    },
    reset: () => void (delaysMs.length = 0),
    stop: () => {
      for (const receiver of receivers) receiver.stop();
    },
  };
}

/** MoodyReceiver confirms webhooks immediately, or hangs, as a test chooses. */
export interface MoodyReceiver {
  readonly url: string;
  /** Number of connections that wait for a response. */
  readonly unanswered: number;
  /** True: stops answering. False: confirms the waiting webhooks and all later ones. */
  hang(doesHang: boolean): void;
  stop(): void;
}

/** Starts a receiver that does not hang yet. The caller must stop it. */
export async function startMoodyReceiver(): Promise<MoodyReceiver> {
  const waiting = new Set<Socket>();
  let doesHang = false;
  const receiver = await listen((socket) => {
    socket.on('close', () => waiting.delete(socket));
    onRequests(socket, () => (doesHang ? void waiting.add(socket) : void socket.write(RESPONSE)));
  });
  return {
    url: receiver.url,
    get unanswered() {
      return waiting.size;
    },
    hang: (does) => {
      doesHang = does;
      if (does) return;
      for (const socket of waiting) socket.write(RESPONSE);
      waiting.clear();
    },
    stop: receiver.stop,
  };
}

interface PlainReceiver {
  readonly url: string;
  stop(): void;
}

async function listen(handle: (socket: Socket) => void): Promise<PlainReceiver> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    handle(socket);
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Calls `onRequest` with the text of each complete request on a connection. */
function onRequests(socket: Socket, onRequest: (request: string) => void): void {
  let text = '';
  socket.setNoDelay(true).on('data', (piece) => {
    text += piece.toString('latin1');
    for (let end = endOf(text); end > 0; end = endOf(text)) {
      onRequest(text.slice(0, end));
      text = text.slice(end);
    }
  });
}

/** Returns the end of the first request in the text; 0 if it is incomplete. */
function endOf(text: string): number {
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd < 0) return 0;
  const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd)) ?? [];
  const end = headEnd + HEAD_END.length + Number(length);
  return text.length < end ? 0 : end;
}

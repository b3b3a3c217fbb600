/** Receivers of webhooks that use little CPU: one that responds at once, and one that never responds. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const HEAD_END = '\r\n\r\n';
const RESPONSE = 'HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n';
const PATIENCE_MS = 60_000;

/** Receiver counts deliveries. It records a complaint if a delivery has no signatures or arrives twice. */
export class Receiver {
  /** Deliveries that have arrived, by host, path and webhook ID. */
  seen = new Map();
  /** Time in ms from the creation of each event, which is in its data, to its delivery. */
  delaysMs = [];
  count = 0;
  complaint;

  /**
   * Starts servers on free ports of 127.0.0.1. They run until this process exits.
   * @param {number} hosts number of servers
   * @returns {Promise<string[]>} their URLs
   */
  async start(hosts) {
    const ports = [];
    for (let host = 0; host < hosts; host++) ports.push(await listening(this.#server(host)));
    return ports.map((port) => `http://127.0.0.1:${port}`);
  }

  #server(host) {
    return createServer({ noDelay: true }, (socket) => {
      let text = '';
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        text += piece.toString('latin1');
        for (let end = this.endOf(text); end > 0; end = this.endOf(text)) {
          this.record(text.slice(0, end), host);
          text = text.slice(end);
          socket.write(RESPONSE);
        }
      });
    });
  }

  /** Clears deliveries, delays and count. Keeps a complaint. */
  reset() {
    this.seen.clear();
    this.delaysMs = [];
    this.count = 0;
  }

  /** Resolves when `count` deliveries have arrived since `reset`. Rejects after 60 s, or if there is a complaint. */
  async waitFor(count) {
    const deadline = performance.now() + PATIENCE_MS;
    while (this.count < count && this.complaint === undefined) {
      if (performance.now() > deadline) throw new Error(`${this.count} of ${count} deliveries have arrived. No table.`);
      await sleep(1);
    }
    if (this.complaint !== undefined) throw new Error(`${this.complaint}. No table.`);
  }

  /** Returns the end of the first request in the text; 0 if it is incomplete. */
  endOf(text) {
    const headEnd = text.indexOf(HEAD_END);
    if (headEnd < 0) return 0;
    const [, length = '0'] = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd)) ?? [];
    const end = headEnd + HEAD_END.length + Number(length);
    return text.length < end ? 0 : end;
  }

  record(request, host) {
    const atMs = performance.now();
    const [, path] = /^POST (\S+) /.exec(request) ?? [];
    const [, id] = /\r\nwebhook-id: (\S+)/i.exec(request) ?? [];
    const [, sentMs] = /"sentMs":([\d.]+)/.exec(request) ?? [];
    if (!/\r\nwebhook-signature: v1,\S+ v1a,\S+\r\n/i.test(request)) this.complaint = 'a delivery had no signatures';
    const key = `${host} ${path} ${id}`;
    if (this.seen.has(key)) this.complaint = `${id} came twice to ${path} of host ${host}`;
    this.seen.set(key, true);
    this.count += 1;
    if (sentMs !== undefined) this.delaysMs.push(atMs - Number(sentMs));
  }
}

/**
 * Starts a server that accepts connections and never responds. It runs until this process exits.
 * @returns {Promise<string>} its URL
 */
export async function startHanging() {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  return `http://127.0.0.1:${await listening(server)}`;
}

async function listening(server) {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  return server.address().port;
}

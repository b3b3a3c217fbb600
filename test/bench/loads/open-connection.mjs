/**
 * Keep-alive connection of the constant-rate load. It sends one request at a time, and checks every response to the
 * last byte.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const READ_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';

export class OpenConnection {
  /** Index of the current request. */
  index = -1;
  #socket;
  /** Received part of the response head; undefined while the body is read. */
  #head = '';
  #bodyAt = 0;
  #closes = false;

  /**
   * @param {{ port: number, ca: Buffer | undefined }} server `ca`: trusted certificate; undefined for no TLS
   * @param {{ body: Buffer, limits: boolean }} expected body of every response, whose status must be 200; `limits`:
   *   whether responses must have RateLimit fields
   * @param {{ answered(connection: OpenConnection): void, ready(connection: OpenConnection): void,
   *   fail(message: string): void }} listener `answered` is called at the last byte of a response, and `ready` when the
   *   next request can be sent. `fail` is called at a wrong response or a lost connection.
   */
  constructor(server, expected, listener) {
    this.server = server;
    this.expected = expected;
    this.listener = listener;
  }

  /** Connects, and then calls `ready` of the listener. */
  async open() {
    const socket = this.server.ca === undefined ? this.#openPlain() : this.#openSecure();
    this.#socket = socket;
    socket.on('error', ({ message }) => this.listener.fail(`a connection failed: ${message}`));
    socket.on('end', () => {
      if (socket === this.#socket && !this.#closes) this.listener.fail('a connection was closed without notice');
    });
    await once(socket, this.server.ca === undefined ? 'connect' : 'secureConnect');
    this.listener.ready(this);
  }

  #openPlain() {
    const onread = {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (size, buffer) => {
        this.#read(buffer, size);
        return true;
      },
    };
    return connect({ port: this.server.port, host: '127.0.0.1', noDelay: true, onread });
  }

  #openSecure() {
    const { port, ca } = this.server;
    const socket = connectTls({ port, host: '127.0.0.1', ca, noDelay: true, ALPNProtocols: ['http/1.1'] });
    return socket.on('data', (data) => this.#read(data, data.length));
  }

  /** Sends a request. Requires that `ready` has been called. */
  send(index, request) {
    this.index = index;
    this.#head = '';
    this.#bodyAt = 0;
    this.#socket.write(request);
  }

  #read(buffer, size) {
    let from = 0;
    if (this.#head !== undefined) {
      const earlier = this.#head.length;
      this.#head += buffer.latin1Slice(0, size);
      const end = this.#head.indexOf(HEAD_END);
      if (end < 0) return;
      this.#judgeHead(this.#head.slice(0, end));
      from = end + HEAD_END.length - earlier;
      this.#head = undefined;
    }
    const { body } = this.expected;
    const length = size - from;
    const isRight =
      this.#bodyAt + length <= body.length &&
      body.compare(buffer, from, size, this.#bodyAt, this.#bodyAt + length) === 0;
    if (!isRight) return this.listener.fail('a wrong body');
    this.#bodyAt += length;
    if (this.#bodyAt === body.length) this.#end();
  }

  #judgeHead(head) {
    if (!head.startsWith('HTTP/1.1 200 ')) return this.listener.fail(`an answer that is none: ${head.slice(0, 300)}`);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (Number(length) !== this.expected.body.length) return this.listener.fail(`a Content-Length of ${length}`);
    if (this.expected.limits && !/\r\nratelimit: /i.test(head)) return this.listener.fail('no RateLimit field');
    this.#closes = /\r\nconnection: close/i.test(head);
  }

  /** Ends a response. Reconnects if the gateway closes the connection, as it does after a number of requests. */
  #end() {
    this.listener.answered(this);
    if (!this.#closes) return this.listener.ready(this);
    this.#socket.destroy();
    this.#closes = false;
    void this.open();
  }
}

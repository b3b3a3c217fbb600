/** One keep-alive connection of the constant-rate load: a request at a time, and every answer looked at, to the last byte. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const READ_BYTES = 64 * 1024;
const HEAD_END = '\r\n\r\n';

export class OpenConnection {
  /** The request that is under way. */
  index = -1;
  #socket;
  /** Head of the answer as far as it has come; undefined: the body is being read. */
  #head = '';
  #bodyAt = 0;
  #closes = false;

  /**
   * @param {{ port: number, ca: Buffer | undefined }} server `ca`: what is trusted, where it is to be over TLS
   * @param {{ body: Buffer, limits: boolean }} expected what every answer must be: 200 with this body, and RateLimit fields where `limits`
   * @param {{ answered(connection: OpenConnection): void, ready(connection: OpenConnection): void, fail(message: string): void }} told
   *   `answered` when the last byte is there, `ready` when the next request can be sent
   */
  constructor(server, expected, told) {
    this.server = server;
    this.expected = expected;
    this.told = told;
  }

  async open() {
    const socket = this.server.ca === undefined ? this.#openPlain() : this.#openSecure();
    this.#socket = socket;
    socket.on('error', ({ message }) => this.told.fail(`a connection failed: ${message}`));
    socket.on('end', () => {
      if (socket === this.#socket && !this.#closes) this.told.fail('a connection was closed without notice');
    });
    await once(socket, this.server.ca === undefined ? 'connect' : 'secureConnect');
    this.told.ready(this);
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

  /** @param {Buffer} request */
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
    if (!isRight) return this.told.fail('a wrong body');
    this.#bodyAt += length;
    if (this.#bodyAt === body.length) this.#end();
  }

  #judgeHead(head) {
    if (!head.startsWith('HTTP/1.1 200 ')) return this.told.fail(`an answer that is none: ${head.slice(0, 300)}`);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (Number(length) !== this.expected.body.length) return this.told.fail(`a Content-Length of ${length}`);
    if (this.expected.limits && !/\r\nratelimit: /i.test(head)) return this.told.fail('no RateLimit field');
    this.#closes = /\r\nconnection: close/i.test(head);
  }

  /** A connection that the gateway closes (it does so after so many requests) makes room for a new one. */
  #end() {
    this.told.answered(this);
    if (!this.#closes) return this.told.ready(this);
    this.#socket.destroy();
    this.#closes = false;
    void this.open();
  }
}

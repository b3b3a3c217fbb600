/** Opens the client connections of `npm run bench:resources` over HTTP/1.1, TLS and HTTP/2. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** @typedef {{ port: number, secret: string }} Target */

/**
 * Returns an HTTP/1.1 request as text.
 * @param {Target} target
 * @param {string} name path of the operation below `/api/v1`
 */
export const requestText = ({ secret }, name) =>
  `GET /api/v1/${name} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${secret}\r\n\r\n`;

/**
 * Opens a connection without TLS. The caller must call `destroy` of the result.
 * @param {Target} target
 */
export async function openPlain(target) {
  const socket = connectPlain(target.port, '127.0.0.1');
  await once(socket, 'connect');
  return new OpenSocket(target, socket);
}

async function openSecure(target) {
  const socket = connectTls({ port: target.port, host: '127.0.0.1', ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  return new OpenSocket(target, socket);
}

async function openHttp2({ port, secret }) {
  const session = connectHttp2(`https://127.0.0.1:${port}`);
  await once(session, 'connect');
  return {
    async ask() {
      const stream = session.request({ ':path': '/api/v1/hello', authorization: `Bearer ${secret}` });
      const [fields] = await once(stream, 'response');
      if (fields[':status'] !== 200) throw new Error(`unexpected status of a response: ${fields[':status']}`);
      stream.resume();
      await once(stream, 'close');
    },
    destroy: () => session.destroy(),
  };
}

/** OpenSocket is an HTTP/1.1 connection. */
class OpenSocket {
  constructor(target, socket) {
    this.target = target;
    this.socket = socket;
  }

  /** Sends a request. Resolves when a response arrives, and rejects if its status is not 200. */
  async ask() {
    this.socket.write(requestText(this.target, 'hello'));
    const [data] = await once(this.socket, 'data');
    if (!data.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`unexpected response: ${data}`);
  }

  destroy() {
    this.socket.destroy();
  }
}

/** Kinds of connections. `module` is the Node module whose server accepts them. */
export const WAYS = {
  plain: { what: 'keep-alive connections', module: 'node:http', open: openPlain },
  tls: { what: 'keep-alive connections over TLS', module: 'node:https', open: openSecure },
  http2: { what: 'connections of HTTP/2', module: 'node:http2', open: openHttp2 },
};

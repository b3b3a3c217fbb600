/**
 * A minimal Node gateway without any policy: a `node:http` server that forwards with undici's `dispatch`. It writes the
 * head and a small body of a response at once.
 */
import { createServer } from 'node:http';
import { Pool } from 'undici';

const pool = new Pool(process.env.BACKEND_URL, { connections: 128 });
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'proxy-connection']);
/** Maximum size of response bodies that are buffered completely. */
const SMALL_BODY_BYTES = 64 * 1024;

/** Forwarding passes one response of the backend to one client. */
class Forwarding {
  constructor(response) {
    this.response = response;
    this.held = undefined;
  }

  onRequestStart(controller) {
    if (this.response.destroyed) return controller.abort(new Error('the client disconnected while the request waited'));
    this.response.on('close', () => this.response.writableFinished || controller.abort(new Error('the client disconnected')));
  }

  onResponseStart(controller, status) {
    const raw = controller.rawHeaders;
    const headers = [];
    let length = -1;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i].latin1Slice();
      const lower = name.toLowerCase();
      if (HOP_BY_HOP.has(lower)) continue;
      const value = raw[i + 1].latin1Slice();
      if (lower === 'content-length') length = Number(value);
      headers.push(name, value);
    }
    this.response.writeHead(status, headers);
    this.small = length >= 0 && length <= SMALL_BODY_BYTES;
  }

  onResponseData(controller, chunk) {
    if (this.small) {
      this.held = this.held ? Buffer.concat([this.held, chunk]) : chunk;
    } else if (!this.response.write(chunk)) {
      controller.pause();
      this.response.once('drain', () => controller.resume());
    }
  }

  onResponseEnd() {
    // Node joins a string body and the head in one buffer. It would write a Buffer separately, with writev.
    if (this.held) this.response.end(this.held.latin1Slice(), 'latin1');
    else this.response.end();
  }

  onResponseError() {
    if (this.response.headersSent) this.response.destroy();
    else this.response.writeHead(502).end();
  }
}

function requestHeaders(raw) {
  const headers = [];
  for (let i = 0; i < raw.length; i += 2) {
    if (!HOP_BY_HOP.has(raw[i].toLowerCase())) headers.push(raw[i], raw[i + 1]);
  }
  return headers;
}

createServer((request, response) => {
  const { method } = request;
  const body = method === 'GET' || method === 'HEAD' ? null : request;
  const path = request.url.startsWith('/api/v1/') ? request.url.slice(7) : request.url;
  pool.dispatch({ path, method, headers: requestHeaders(request.rawHeaders), body }, new Forwarding(response));
}).listen(Number(process.env.PORT), '127.0.0.1');
